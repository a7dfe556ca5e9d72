internal import Lifecycle

/// What time it is for the expander: this machine's clock, as far as the cluster has shown that it is not ahead.
///
/// By a clock that is an hour ahead, sends that are still wanted would be dropped, and activities ended that have
/// an hour to live. What the cluster has stamped is in the past, so that it is a time that has surely come; and a
/// clock that is behind is put right by it.
struct ProvenTime {
    /// By so much the clock may be ahead of what is proven and is believed all the same.
    static let toleranceMilliseconds: Int64 = 300_000
    /// Brokers are as one here.
    private static let cluster: Int32 = 0

    private var stamps = PartitionClocks()

    /// The cluster has written this, or knows something that is as young.
    mutating func saw(_ stamp: Int64, at now: Instant) { stamps.saw(stamp, in: Self.cluster, at: now) }

    /// Milliseconds since 1970: never later than it is, but for the tolerance. Nil while nothing is known.
    func time(by wall: Int64, at now: Instant) -> Int64? {
        stamps.time(in: Self.cluster, at: now).map { proven in
            wall - proven > Self.toleranceMilliseconds ? proven : max(wall, proven)
        }
    }

    /// Whether the clock is believed.
    func proves(_ wall: Int64, at now: Instant) -> Bool {
        time(by: wall, at: now).map { $0 >= wall } ?? false
    }

    /// Milliseconds since 1970: never earlier than it is, where the clock is not behind. For what must not end too
    /// early.
    func latest(by wall: Int64, at now: Instant) -> Int64 {
        max(wall, stamps.time(in: Self.cluster, at: now) ?? wall)
    }
}
