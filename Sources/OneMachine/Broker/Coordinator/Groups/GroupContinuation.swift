/// The work that follows an append, whether it succeeds or fails.
enum GroupContinuation {
    struct JoinReply {
        let token: ReplyToken
        let response: JoinGroupResponse
    }

    /// A generation began, or a static member was replaced in it. These members get their answers.
    case joined(group: String, generation: Int32, [JoinReply])
    /// The leader's assignment.
    case assigned(group: String, generation: Int32)
    /// The last member left.
    case emptied(group: String)
    case committed(group: String, [TopicPartition: CommittedOffset], ReplyToken, PartitionErrors)
    case pending(
        group: String, producer: Int64, [TopicPartition: CommittedOffset], ReplyToken, PartitionErrors)
    case ended(MarkersID, producer: Int64, commits: Bool, groups: [String: PendingOffsets])
    /// Groups or their offsets were deleted, possibly by a request.
    case deleted(groups: [String], ReplyToken?, DeleteGroupsResponse)
    case offsetsDeleted(group: String, [TopicPartition], ReplyToken?, PartitionErrors)

    var groupIDs: [String] {
        switch self {
        case .joined(let group, _, _), .assigned(let group, _), .emptied(let group),
            .committed(let group, _, _, _), .pending(let group, _, _, _, _),
            .offsetsDeleted(let group, _, _, _):
            [group]
        case .ended(_, _, _, let groups): Array(groups.keys)
        case .deleted(let groups, _, _): groups
        }
    }
}
