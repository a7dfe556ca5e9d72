/// The step that the group coordinator takes when the outcome of an append is known.
enum GroupContinuation {
    /// The answer to a member's JoinGroup request.
    struct JoinReply {
        let token: ReplyToken
        let response: JoinGroupResponse
    }

    /// A generation began, or a static member was replaced in it. The members wait for these replies.
    case joined(group: String, generation: Int32, replies: [JoinReply])
    /// The leader assigned the partitions.
    case assigned(group: String, generation: Int32)
    /// The last member left.
    case emptied(group: String)
    /// Offsets were committed without a transaction.
    case committed(
        group: String, offsets: [PartitionID: CommittedOffset], token: ReplyToken, answer: PartitionErrors)
    /// Offsets were committed within a transaction, and wait for its end.
    case pending(
        group: String, producer: Int64, offsets: [PartitionID: CommittedOffset], token: ReplyToken,
        answer: PartitionErrors)
    /// A transaction ended in these groups.
    case ended(MarkersID, producer: Int64, commits: Bool, groups: [String: PendingOffsets])
    /// Groups were deleted. Without a token, they had expired.
    case deleted(groups: [String], token: ReplyToken?, answer: DeleteGroupsResponse)
    /// Offsets of a group were deleted. Without a token, they had expired, or their topic was deleted.
    case offsetsDeleted(
        group: String, partitions: [PartitionID], token: ReplyToken?, answer: PartitionErrors)

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
