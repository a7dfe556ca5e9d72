/// What an operator can say about groups. The defaults are Apache Kafka's, but for the first join:
/// a new group waits a moment here, not three seconds, because its members start together on one machine.
struct GroupSettings: Sendable {
    /// How long a group that was empty waits for more members before its first generation.
    var initialRebalanceDelayMilliseconds = 50
    var sessionTimeoutMinimumMilliseconds = 6_000
    var sessionTimeoutMaximumMilliseconds = 1_800_000
    /// A member whose first join is not answered for this long is given up: it has no id to beat with.
    var newMemberJoinTimeoutMilliseconds = 300_000
    /// Offsets of a group without members are kept this long.
    var offsetsRetentionMilliseconds: Int64 = 7 * 86_400_000
    var offsetsRetentionCheckMilliseconds = 600_000

    /// Above it a new group is refused with POLICY_VIOLATION.
    var groupsMax = 10_000
    /// Above it a new member is refused with GROUP_MAX_SIZE_REACHED.
    var membersPerGroupMax = 1_000
    /// Above it the offset is refused with OFFSET_METADATA_TOO_LARGE.
    var offsetMetadataBytesMax = 4_096
    /// What one member offers, or is assigned; above it the request is refused with INVALID_REQUEST.
    var memberBytesMax = 1 << 20
    /// What all members of a group offer and are assigned; above it the assignment is refused with
    /// UNKNOWN_SERVER_ERROR, as Kafka does when the record is too large for its log.
    var groupBytesMax = 8 << 20
}
