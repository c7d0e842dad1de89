// SPDX-License-Identifier: Apache-2.0
//
// To compile it again: python -m tools.solidity compile
pragma solidity 0.8.30;

/// An owner that is a contract. Anybody says what it does when it is paid in coins.
contract OddOwner {
    enum Does {
        Accept,
        Refuse,
        BurnGas,
        Call
    }

    Does public does;
    address public called;
    bytes public callData;
    /// Whether the last call out of here succeeded.
    bool public worked;

    function set(Does does_, address target, bytes calldata data) external {
        (does, called, callData) = (does_, target, data);
    }

    /// Calls anything in this contract's name.
    function run(address target, bytes calldata data) external {
        (bool done, bytes memory answer) = target.call(data);
        if (!done) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
    }

    receive() external payable {
        if (does == Does.Refuse) revert("refused");
        if (does == Does.BurnGas) {
            assembly {
                invalid()
            }
        }
        if (does == Does.Call) (worked,) = called.call(callData);
    }
}
