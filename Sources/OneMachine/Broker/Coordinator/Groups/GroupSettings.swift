/// The settings of groups. The defaults are Apache Kafka's, except for the first join: a new group waits
/// 50 ms and not three seconds, because its members start together on one machine.
package struct GroupSettings: Sendable {
    /// The wait of a new group for more members before its first generation.
    package var initialRebalanceDelayMilliseconds = 50
    package var sessionTimeoutMinimumMilliseconds = 6_000
    package var sessionTimeoutMaximumMilliseconds = 1_800_000
    /// A member whose first join gets no answer for this time is removed, because it has no id for
    /// heartbeats.
    package var newMemberJoinTimeoutMilliseconds = 300_000
    /// Offsets that no member uses are kept for this time.
    package var offsetsRetentionMilliseconds: Int64 = 7 * 86_400_000
    package var offsetsRetentionCheckMilliseconds = 600_000

    /// Above it a new group is refused with POLICY_VIOLATION.
    package var groupsMax = 10_000
    /// Above it a new member is refused with GROUP_MAX_SIZE_REACHED.
    package var membersPerGroupMax = 1_000
    /// Above it the offset is refused with OFFSET_METADATA_TOO_LARGE.
    package var offsetMetadataBytesMax = 4_096
    /// Bytes of the protocols that one member offers, with their metadata. Above it the join is refused with
    /// INVALID_REQUEST.
    package var memberBytesMax = 1 << 20
    /// Bytes of all members' metadata and assignments. Above it the assignment is refused with
    /// UNKNOWN_SERVER_ERROR, as on Kafka when the record is too large for its log.
    package var groupBytesMax = 8 << 20
}
