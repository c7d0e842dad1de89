// SPDX-License-Identifier: Apache-2.0
//
// To compile it again: python -m tools.solidity compile
pragma solidity 0.8.30;

/// Answers two functions as Multicall3 does, for tests: put its code at Multicall3's address.
contract TestMulticall {
    struct Call {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function aggregate3(Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success, bytes memory data) = calls[i].target.call(calls[i].callData);
            require(success || calls[i].allowFailure, "Multicall3: call failed");
            results[i] = Result(success, data);
        }
    }

    function getEthBalance(address holder) external view returns (uint256 balance) {
        balance = holder.balance;
    }
}
