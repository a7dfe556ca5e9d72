/// A comparison of this machine's clock with the cluster's, by one record that the cluster stamps with its time. All
/// times are milliseconds since 1970.
struct ClockComparison {
    /// The time before the record was sent, by the local clock.
    let sentAt: Int64
    /// The stamp of the cluster, or nil if the cluster does not report it.
    let stampedAt: Int64?
    /// The time after the record was acknowledged, by the local clock.
    let acknowledgedAt: Int64

    /// The least time in milliseconds by which the local clock is ahead, or behind if negative. It is zero if the stamp
    /// lies between the two local times, and nil without a stamp.
    private var millisecondsAhead: Int64? {
        guard let stampedAt else { return nil }
        if stampedAt < sentAt { return sentAt - stampedAt }
        if stampedAt > acknowledgedAt { return acknowledgedAt - stampedAt }
        return 0
    }

    func finding(toleranceMilliseconds: Int64) -> Finding {
        guard let millisecondsAhead else {
            return .doubt(subject: "clock", text: "the cluster does not stamp the records of audit")
        }
        if millisecondsAhead.magnitude <= toleranceMilliseconds.magnitude {
            return .good(
                subject: "clock",
                text: "agrees with the cluster's clock within \(acknowledgedAt - sentAt) ms")
        }
        let direction = millisecondsAhead > 0 ? "ahead of" : "behind"
        return .wrong(
            subject: "clock",
            text: """
                this machine's clock is \(millisecondsAhead.magnitude) ms \(direction) the cluster's; synchronize both with NTP \
                (`timedatectl set-ntp true`)
                """)
    }
}
