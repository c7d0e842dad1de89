// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {Receiver} from "./Receiver.sol";

/// @title Receivers
/// @author ticketing
/// @notice The factory of receivers. It empties them to their owners, and it pays refunds.
/// @dev Nobody owns it and nobody can change it. Everybody may call every function: what a call
/// moves belongs to a receiver's owner, or to the caller. It never holds money itself.
contract Receivers {
    using SafeERC20 for IERC20;

    /// @notice One refund of a list.
    /// @param id The caller's own number of this refund. It works once.
    /// @param to Who gets the money.
    /// @param amount In the token's smallest units.
    struct Payment {
        bytes32 id;
        address to;
        uint256 amount;
    }

    /// @notice A refund was paid.
    /// @param payer Who paid it and called `refund`.
    /// @param id The payer's number of it.
    /// @param token The ERC-20 token.
    /// @param to Who got the money.
    /// @param amount In the token's smallest units.
    event Refunded(
        address indexed payer,
        bytes32 indexed id,
        address token,
        address to,
        uint256 amount
    );

    /// @notice The list is too old to be paid.
    /// @param validBefore The last second in which it could be paid.
    error Expired(uint256 validBefore);

    /// @notice There is no contract at the token's address.
    /// @param token The address.
    error NotAToken(address token);

    /// @notice The list is empty.
    error NoPayments();

    /// @notice The recipient or the amount is zero.
    /// @param id The refund.
    error EmptyPayment(bytes32 id);

    /// @notice The caller has already paid this refund.
    /// @param id The refund.
    error AlreadyRefunded(bytes32 id);

    /// @dev The salt of the gathering receiver. No order has it.
    bytes32 private constant GATHERING = bytes32(0);

    /// @dev What all receivers delegate to. It obeys the contract that created it: this one.
    address private immutable IMPLEMENTATION = address(new Receiver());

    /// @notice Whether a payer has used an id. An id of one payer says nothing of another's.
    mapping(address payer => mapping(bytes32 id => bool used)) public refunded;

    /// @notice Sends what receivers hold to their owner.
    /// @dev All or nothing. Each receiver pays the gathering receiver, which then pays the owner:
    /// the owner sees one transfer, always from the same sender. A receiver is created when it
    /// first pays. The caller, the order and the number of calls change nothing about who is paid.
    /// But a caller can split the money into many transfers, with `direct` or with one salt a call:
    /// an exchange may not credit transfers below its minimum deposit.
    /// @param owner Whose receivers they are.
    /// @param token An ERC-20 token, or 0 for the chain's own coin.
    /// @param direct Let each receiver pay the owner itself, and leave the gathering receiver out.
    /// For a token whose issuer has frozen the gathering receiver.
    /// @param salts The receivers. Empty ones and repeated ones are harmless.
    function collect(
        address owner,
        address token,
        bool direct,
        bytes32[] calldata salts
    ) external {
        for (uint256 i = 0; i < salts.length; ++i) {
            // The gathering receiver would pay itself.
            if (salts[i] != GATHERING) _empty(owner, salts[i], token, direct);
        }
        if (!direct) _empty(owner, GATHERING, token, true);
    }

    /// @notice Pays refunds from the caller's own wallet.
    /// @dev All or nothing. The caller first allows this contract the sum (ERC-20 `approve`).
    /// Only the caller's own money can be paid, so a left-over allowance is of use to nobody else.
    /// @param token The ERC-20 token.
    /// @param validBefore The last second (block time) in which the list can be paid.
    /// @param payments The refunds. An id that the caller has used reverts them all.
    function refund(address token, uint256 validBefore, Payment[] calldata payments) external {
        if (block.timestamp > validBefore) revert Expired(validBefore);
        if (token.code.length == 0) revert NotAToken(token);
        if (payments.length == 0) revert NoPayments();
        for (uint256 i = 0; i < payments.length; ++i) {
            Payment calldata payment = payments[i];
            if (payment.to == address(0) || payment.amount == 0) revert EmptyPayment(payment.id);
            if (refunded[msg.sender][payment.id]) revert AlreadyRefunded(payment.id);
            // Before the transfer: a token may call back.
            refunded[msg.sender][payment.id] = true;
            IERC20(token).safeTransferFrom(msg.sender, payment.to, payment.amount);
            // After it: the transfer of this refund is the last one before its event.
            emit Refunded(msg.sender, payment.id, token, payment.to, payment.amount);
        }
    }

    /// @notice The address of a receiver, whether it has code yet or not.
    /// @param owner The only address that it can pay.
    /// @param salt Which of the owner's receivers. 0 is the gathering receiver.
    /// @return The address.
    function receiver(address owner, bytes32 salt) public view returns (address) {
        return
            Clones.predictDeterministicAddressWithImmutableArgs(
                IMPLEMENTATION,
                abi.encodePacked(owner),
                salt
            );
    }

    /// @dev Lets one receiver pay all that it holds. Creates it if it has no code yet.
    function _empty(address owner, bytes32 salt, address token, bool direct) private {
        address payable from = payable(receiver(owner, salt));
        uint256 held = token == address(0) ? from.balance : IERC20(token).balanceOf(from);
        if (held > 0) {
            if (from.code.length == 0) {
                Clones.cloneDeterministicWithImmutableArgs(
                    IMPLEMENTATION,
                    abi.encodePacked(owner),
                    salt
                );
            }
            Receiver(from).pay(token, held, direct);
        }
    }
}
