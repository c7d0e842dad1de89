// SPDX-License-Identifier: Apache-2.0
//
// To compile it again: python -m tools.solidity compile
pragma solidity 0.8.30;

/// A token whose oddities anybody switches on. Without them it acts as USDC does: it has a list of
/// frozen accounts and a pause, and a proxy can stand in front of it.
contract OddToken {
    uint8 public constant decimals = 6;
    string public constant symbol = "USDC";
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public isFrozen;
    bool public isPaused;
    /// As USDT: transfers return nothing.
    bool public isSilent;
    /// As some old tokens: a transfer that fails returns false.
    bool public returnsFalse;
    /// As USDT: only senders can be frozen.
    bool public freezesSendersOnly;
    /// Called before and after each transfer, as ERC-777 does; what it answers is ignored.
    address public called;
    bytes public callData;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address[] calldata to, uint256[] calldata value) external {
        for (uint256 i = 0; i < to.length; i++) {
            balanceOf[to[i]] += value[i];
            emit Transfer(address(0), to[i], value[i]);
        }
    }

    function freeze(address account, bool on) external {
        isFrozen[account] = on;
    }

    function pause(bool on) external {
        isPaused = on;
    }

    function setOddities(bool silent, bool isFalse, bool sendersOnly) external {
        (isSilent, returnsFalse, freezesSendersOnly) = (silent, isFalse, sendersOnly);
    }

    function setCall(address target, bytes calldata data) external {
        (called, callData) = (target, data);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        return true;
    }

    function transfer(address to, uint256 value) external {
        answer(move(msg.sender, to, value));
    }

    function transferFrom(address from, address to, uint256 value) external {
        bool isAllowed = allowance[from][msg.sender] >= value;
        if (isAllowed) allowance[from][msg.sender] -= value;
        answer(isAllowed && move(from, to, value));
    }

    function move(address from, address to, uint256 value) private returns (bool) {
        bool stopped = isFrozen[from] || (isFrozen[to] && !freezesSendersOnly);
        if (isPaused || stopped || to == address(0) || balanceOf[from] < value) return false;
        callOut();
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        callOut();
        return true;
    }

    /// Not again while a call is running: it would never end.
    function callOut() private {
        address target = called;
        if (target == address(0)) return;
        called = address(0);
        (bool done,) = target.call(callData);
        done; // a call that fails changes nothing
        called = target;
    }

    function answer(bool done) private view {
        require(done || returnsFalse, "transfer refused");
        bool silent = isSilent;
        assembly {
            mstore(0, done)
            return(0, mul(32, iszero(silent)))
        }
    }
}

/// A proxy as that of USDC: another account could change its code.
contract TokenProxy {
    /// Far from the token's own storage.
    bytes32 private constant SLOT = keccak256("tests.TokenProxy.logic");

    constructor(address logic) {
        bytes32 slot = SLOT;
        assembly {
            sstore(slot, logic)
        }
    }

    fallback() external {
        bytes32 slot = SLOT;
        assembly {
            calldatacopy(0, 0, calldatasize())
            let done := delegatecall(gas(), sload(slot), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(done) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}
