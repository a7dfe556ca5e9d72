internal import Lifecycle
internal import Telemetry

/// One consumer group: its members, its generation and its offsets.
///
/// Holds facts and the rules among them; what happens next is `GroupCoordinator`'s to decide.
final class Group {
    let id: String
    var state = GroupState.empty
    var stateSince: WallTime
    var generation: Int32 = 0
    var protocolType: String?
    var protocolName: String?
    var leaderID: String?

    private(set) var members: [String: GroupMember] = [:]
    private(set) var staticMembers: [String: String] = [:]
    /// Ids that were given out and not used yet, with the time at which they lapse.
    var promisedIDs: [String: Instant] = [:]
    /// Members of the generation that have not asked for their assignment yet.
    var awaitedSyncs: Set<String> = []

    /// When the phase of joining ends, whoever came.
    var joinDeadline: Instant?
    /// What is left of the first join's total wait, while the group waits for more members.
    var initialDelayLeftMilliseconds: Int?
    var newMemberArrived = false
    /// When members that have not asked for their assignment are given up.
    var syncDeadline: Instant?

    /// The leader's assignment is on its way to the log.
    var assignmentInFlight = false
    var appendsInFlight = 0

    var offsets: [TopicPartition: CommittedOffset] = [:]
    /// By producer id: offsets whose transaction is open.
    var pending: [Int64: PendingOffsets] = [:]

    init(id: String, at now: WallTime) {
        self.id = id
        self.stateSince = now
    }

    var membersInOrder: [GroupMember] { members.values.sorted { $0.order < $1.order } }

    var allHaveJoined: Bool { promisedIDs.isEmpty && members.values.allSatisfy { $0.joining != nil } }

    var rebalanceTimeoutMilliseconds: Int {
        members.values.reduce(0) { max($0, $1.rebalanceTimeoutMilliseconds) }
    }

    var isUnused: Bool {
        state == .empty && members.isEmpty && promisedIDs.isEmpty && offsets.isEmpty && pending.isEmpty
    }

    func enter(_ next: GroupState, at now: WallTime) {
        state = next
        stateSince = now
    }

    func add(_ member: GroupMember) {
        promisedIDs[member.id] = nil
        members[member.id] = member
        if let instance = member.instanceID { staticMembers[instance] = member.id }
        if leaderID == nil { leaderID = member.id }
    }

    func remove(_ member: GroupMember) {
        members[member.id] = nil
        awaitedSyncs.remove(member.id)
        if let instance = member.instanceID, staticMembers[instance] == member.id {
            staticMembers[instance] = nil
        }
        if leaderID == member.id { leaderID = membersInOrder.first?.id }
    }

    /// The member takes the place of the one that had its instance id, in the same order of joining.
    func replace(_ old: GroupMember, by new: GroupMember) {
        members[old.id] = nil
        members[new.id] = new
        if let instance = new.instanceID { staticMembers[instance] = new.id }
        if leaderID == old.id { leaderID = new.id }
        if awaitedSyncs.remove(old.id) != nil { awaitedSyncs.insert(new.id) }
    }

    /// The leader stays if it joined again, else the oldest that did takes over; false if nobody did.
    func electLeader() -> Bool {
        if let leaderID, members[leaderID]?.joining != nil { return true }
        guard let next = membersInOrder.first(where: { $0.joining != nil }) else { return false }
        leaderID = next.id
        return true
    }

    func memberError(_ memberID: String, _ instanceID: String?) -> ErrorCode? {
        if let instanceID {
            guard let current = staticMembers[instanceID] else { return .unknownMemberID }
            return current == memberID ? nil : .fencedInstanceID
        }
        return members[memberID] == nil ? .unknownMemberID : nil
    }
}

/// Offsets that one producer's open transaction will bring.
struct PendingOffsets: Equatable {
    var epoch: Int16
    var offsets: [TopicPartition: CommittedOffset]
}
