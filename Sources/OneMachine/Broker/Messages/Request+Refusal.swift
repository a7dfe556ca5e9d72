/// The refusal of a whole request by a coordinator that is not responsible or not ready. Only a test injects
/// it, with `ClusterDelays`.
extension Request {
    /// The call to a coordinator; nil for a request that no coordinator answers.
    var coordinatorCall: CoordinatorCall? {
        switch self {
        case .findCoordinator(let body):
            body.keyType == FindCoordinatorRequest.transaction ? .findTransaction : .findGroup
        case .group(let body): body.call
        case .txnOffsetCommit(let body): .group(body.groupID)
        // Without a transactional id, any broker of a cluster answers.
        case .initProducerID(let body): body.transactionalID.map { .transaction(id: $0) }
        case .addPartitionsToTxn(let body): .transaction(id: body.transactionalID)
        case .addOffsetsToTxn(let body): .transaction(id: body.transactionalID)
        case .endTxn(let body): .end(id: body.transactionalID)
        default: nil
        }
    }

    /// Writes the answer of a coordinator that refuses the request with this error.
    func writeRefusal(_ error: ErrorCode, to writer: inout WireWriter, version: Int16) {
        switch self {
        case .findCoordinator(let body):
            let errors = body.keys.map { FindCoordinatorResponse.Coordinator(none: $0, error: error) }
            FindCoordinatorResponse(coordinators: errors).write(to: &writer, version: version)
        case .group(let body): body.response(refusedWith: error).write(to: &writer, version: version)
        case .txnOffsetCommit(let body):
            PartitionErrors.all(body.topics, error: error).write(to: &writer, hasThrottleTime: true)
        case .initProducerID:
            InitProducerIDResponse(error: error).write(to: &writer, version: version)
        case .addPartitionsToTxn(let body):
            PartitionErrors.all(body.topics, error: error).write(to: &writer, hasThrottleTime: true)
        case .addOffsetsToTxn, .endTxn:
            TransactionErrorResponse(error: error).write(to: &writer, version: version)
        default: preconditionFailure("only a coordinator's requests are refused")
        }
    }
}

extension FindCoordinatorResponse.Coordinator {
    /// Makes the answer for a key without a coordinator.
    init(none key: String, error: ErrorCode, message: String? = nil) {
        self.init(key: key, error: error, errorMessage: message, nodeID: -1, host: "", port: -1)
    }
}

extension GroupRequest {
    /// The call to a coordinator; nil for a request that a test does not refuse.
    fileprivate var call: CoordinatorCall? {
        switch self {
        case .join(let body): .join(group: body.groupID, instanceID: body.instanceID)
        case .sync(let body): .group(body.groupID)
        case .heartbeat(let body): .group(body.groupID)
        case .leave(let body): .group(body.groupID)
        case .commit(let body): .group(body.groupID)
        case .transactionalCommit(let body): .group(body.groupID)
        case .fetch(let body): body.groups.first.map { .group($0.groupID) }
        // ListGroups names no group.
        case .list: .group("")
        case .deleteOffsets, .describe, .delete: nil
        }
    }

    fileprivate func response(refusedWith error: ErrorCode) -> GroupResponse {
        switch self {
        case .join(let body): .join(.failed(with: error, memberID: body.memberID))
        case .sync: .sync(SyncGroupResponse(error: error))
        case .heartbeat: .heartbeat(HeartbeatResponse(error: error))
        case .leave: .leave(LeaveGroupResponse(error: error))
        case .commit(let body): .commit(.all(body.topics, error: error))
        case .transactionalCommit(let body): .transactionalCommit(.all(body.topics, error: error))
        case .fetch(let body):
            .fetch(OffsetFetchResponse(groups: body.groups.map { .init(groupID: $0.groupID, error: error) }))
        case .list: .list(ListGroupsResponse(error: error, groups: []))
        case .deleteOffsets, .describe, .delete:
            preconditionFailure("requests without a call are not refused")
        }
    }
}
