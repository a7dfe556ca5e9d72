/// The requests to the group coordinator.
package enum GroupRequest: Equatable {
    case join(JoinGroupRequest)
    case sync(SyncGroupRequest)
    case heartbeat(HeartbeatRequest)
    case leave(LeaveGroupRequest)
    case commit(OffsetCommitRequest)
    /// `CoordinatorHost` has checked with the transaction coordinator that the transaction is open.
    case transactionalCommit(TxnOffsetCommitRequest)
    case fetch(OffsetFetchRequest)
    case deleteOffsets(OffsetDeleteRequest)
    case list(ListGroupsRequest)
    case describe(DescribeGroupsRequest)
    case delete(DeleteGroupsRequest)
}

/// The answers of the group coordinator.
package enum GroupResponse: Equatable {
    case join(JoinGroupResponse)
    case sync(SyncGroupResponse)
    case heartbeat(HeartbeatResponse)
    case leave(LeaveGroupResponse)
    case commit(PartitionErrors)
    case transactionalCommit(PartitionErrors)
    case fetch(OffsetFetchResponse)
    case deleteOffsets(OffsetDeleteResponse)
    case list(ListGroupsResponse)
    case describe(DescribeGroupsResponse)
    case delete(DeleteGroupsResponse)

    /// `version` is the request's.
    package func write(to writer: inout WireWriter, version: Int16) {
        switch self {
        case .join(let body): body.write(to: &writer, version: version)
        case .sync(let body): body.write(to: &writer, version: version)
        case .heartbeat(let body): body.write(to: &writer, version: version)
        case .leave(let body): body.write(to: &writer, version: version)
        case .commit(let body): body.write(to: &writer, hasThrottleTime: version >= 3)
        case .transactionalCommit(let body): body.write(to: &writer, hasThrottleTime: true)
        case .fetch(let body): body.write(to: &writer, version: version)
        case .deleteOffsets(let body): body.write(to: &writer, version: version)
        case .list(let body): body.write(to: &writer, version: version)
        case .describe(let body): body.write(to: &writer, version: version)
        case .delete(let body): body.write(to: &writer, version: version)
        }
    }
}

/// The actions that the group coordinator returns.
package enum GroupAction: Equatable {
    case reply(ReplyToken, GroupResponse)
    /// Append these records to the groups' topic as one batch. Call `appendSucceeded` when they are durable,
    /// or `appendFailed`.
    case persist(AppendID, [CoordinatorRecord])
    /// The end of a transaction is durable in the groups, or must be requested again. The answer to
    /// `endTransaction`.
    case transactionEnded(MarkersID, durable: Bool)
}
