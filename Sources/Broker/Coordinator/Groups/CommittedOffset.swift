internal import Telemetry

/// How far a group has read one partition, with whatever it wanted to remember beside it.
struct CommittedOffset: Equatable {
    var offset: Int64
    var leaderEpoch: Int32
    var metadata: String
    var committedAt: WallTime
}
