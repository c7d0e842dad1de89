// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Receiver
/// @author ticketing
/// @notice The address of one order. It can pay its owner and nobody else.
/// @dev Each order has a clone of this contract. The last 20 bytes of a clone's code are its owner.
/// Nothing here is stored, and nothing here has a parameter for a recipient.
contract Receiver {
    using SafeERC20 for IERC20;

    /// @notice The caller is not the factory.
    error NotTheFactory();

    /// @dev The only caller that is obeyed: the factory deploys this contract in its constructor.
    address private immutable FACTORY = msg.sender;

    /// @dev The contract that all clones delegate to. In a clone, `address(this)` is the clone.
    address private immutable IMPLEMENTATION = address(this);

    /// @notice Accepts the chain's own coin, which somebody may send by mistake.
    receive() external payable {}

    /// @notice Pays `amount` to the owner, or to the owner's gathering receiver.
    /// @dev Both follow from this clone's own code. The gathering receiver is the clone of salt 0
    /// with the same owner, so it, too, can pay that owner only.
    /// @param token An ERC-20 token, or 0 for the chain's own coin.
    /// @param amount In the smallest units of the token, or in wei.
    /// @param direct Pay the owner. The factory asks this of the gathering receiver, too.
    function pay(address token, uint256 amount, bool direct) external {
        // A stranger could otherwise make this address call any contract as a "token".
        if (msg.sender != FACTORY) revert NotTheFactory();
        bytes memory owner = Clones.fetchCloneArgs(address(this));
        address to = direct
            ? address(bytes20(owner))
            : Clones.predictDeterministicAddressWithImmutableArgs(
                IMPLEMENTATION,
                owner,
                bytes32(0),
                FACTORY
            );
        if (token == address(0)) {
            Address.sendValue(payable(to), amount);
        } else {
            // Reverts if the token returns false. A token that returns nothing is fine.
            IERC20(token).safeTransfer(to, amount);
        }
    }
}
