internal import Lifecycle
internal import Telemetry

/// One consumer group: its members, its generation and its offsets.
///
/// It holds the state and its invariants. `GroupCoordinator` decides the transitions.
final class Group {
    let id: String
    var state = GroupState.empty
    /// The time of the last change of state.
    var stateSince: WallTime
    var generation: Int32 = 0
    /// The kind of the members, for example `consumer`.
    var protocolType: String?
    /// The assignment protocol that the members elected, for example `range`.
    var protocolName: String?
    var leaderID: String?

    // The members.

    /// By member id.
    private(set) var members: [String: GroupMember] = [:]
    /// The member ids of static members, by instance id.
    private(set) var staticMemberIDs: [String: String] = [:]
    /// Member ids that were given out and not used yet, with their expiry.
    var pendingMemberIDs: [String: Instant] = [:]

    // The phase of joins.

    var joinDeadline: Instant?
    /// The part of the first generation's total wait that is left; nil for later generations.
    var remainingInitialDelayMilliseconds: Int?
    /// Whether a member joined in the current part of the first generation's wait.
    var hasNewMember = false

    // The phase of assignments.

    /// Deadline for members to ask for their assignment.
    var syncDeadline: Instant?
    /// Members of the generation that have not asked for their assignment yet.
    var awaitedSyncs: Set<String> = []
    /// Whether the leader's assignment is being appended to the log.
    var isAssignmentInFlight = false

    /// Number of appends for this group whose outcome is unknown.
    var appendsInFlight = 0

    // The offsets.

    var committedOffsets: [PartitionID: CommittedOffset] = [:]
    /// Offsets of open transactions, by producer id.
    var pendingOffsets: [Int64: PendingOffsets] = [:]

    init(id: String, at now: WallTime) {
        self.id = id
        self.stateSince = now
    }

    var membersInOrder: [GroupMember] { members.values.sorted { $0.joinOrder < $1.joinOrder } }

    /// Whether all members, and all clients with a new member id, have joined the next generation.
    var allHaveJoined: Bool {
        pendingMemberIDs.isEmpty && members.values.allSatisfy { $0.pendingJoin != nil }
    }

    /// The longest timeout of a member.
    var rebalanceTimeoutMilliseconds: Int {
        members.values.reduce(0) { max($0, $1.rebalanceTimeoutMilliseconds) }
    }

    /// Whether the group has neither members nor offsets.
    var isUnused: Bool {
        state == .empty && members.isEmpty && pendingMemberIDs.isEmpty && committedOffsets.isEmpty
            && pendingOffsets.isEmpty
    }

    func enter(_ next: GroupState, at now: WallTime) {
        state = next
        stateSince = now
    }

    func add(_ member: GroupMember) {
        pendingMemberIDs[member.id] = nil
        members[member.id] = member
        if let instance = member.instanceID { staticMemberIDs[instance] = member.id }
        if leaderID == nil { leaderID = member.id }
    }

    func remove(_ member: GroupMember) {
        members[member.id] = nil
        awaitedSyncs.remove(member.id)
        if let instance = member.instanceID, staticMemberIDs[instance] == member.id {
            staticMemberIDs[instance] = nil
        }
        if leaderID == member.id { leaderID = membersInOrder.first?.id }
    }

    /// Replaces the member that had the same instance id, and keeps its order of joining.
    func replace(_ old: GroupMember, by new: GroupMember) {
        members[old.id] = nil
        members[new.id] = new
        if let instance = new.instanceID { staticMemberIDs[instance] = new.id }
        if leaderID == old.id { leaderID = new.id }
        if awaitedSyncs.remove(old.id) != nil { awaitedSyncs.insert(new.id) }
    }

    /// Keeps the leader if it joined again, else chooses the oldest joined member. Returns false if no
    /// member joined.
    func electLeader() -> Bool {
        if let leaderID, members[leaderID]?.pendingJoin != nil { return true }
        guard let next = membersInOrder.first(where: { $0.pendingJoin != nil }) else { return false }
        leaderID = next.id
        return true
    }

    /// Returns the error of a request whose member is unknown, or whose instance id now belongs to another
    /// member; nil for a member of the group.
    func memberError(memberID: String, instanceID: String?) -> ErrorCode? {
        if let instanceID {
            guard let current = staticMemberIDs[instanceID] else { return .unknownMemberID }
            return current == memberID ? nil : .fencedInstanceID
        }
        return members[memberID] == nil ? .unknownMemberID : nil
    }
}

/// The offsets of one producer's open transaction.
struct PendingOffsets: Equatable {
    var epoch: Int16
    var offsets: [PartitionID: CommittedOffset]
}
