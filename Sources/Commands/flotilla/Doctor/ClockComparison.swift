/// A comparison of this machine's clock with the cluster's. A record was sent at one time, stamped by the
/// cluster, and acknowledged at another time. All times are milliseconds since 1970.
struct ClockComparison {
    let sent: Int64
    /// The stamp of the cluster, or nil if the cluster does not report it.
    let stamped: Int64?
    let answered: Int64

    /// The lower bound of how far this clock is ahead. Negative if it is behind. Zero if the stamp lies
    /// between the two local times.
    private var ahead: Int64? {
        guard let stamped else { return nil }
        return stamped < sent ? sent - stamped : stamped > answered ? answered - stamped : 0
    }

    func finding(toleranceMilliseconds: Int64) -> Finding {
        guard let ahead else {
            return Finding(
                subject: "clock", verdict: .doubt, text: "the cluster does not stamp the records of audit")
        }
        if ahead.magnitude <= toleranceMilliseconds.magnitude {
            return Finding(
                subject: "clock", verdict: .good,
                text: "agrees with the cluster's clock within \(answered - sent) ms")
        }
        let direction = ahead > 0 ? "ahead of" : "behind"
        return Finding(
            subject: "clock", verdict: .wrong,
            text: """
                this machine's clock is \(ahead.magnitude) ms \(direction) the cluster's; synchronize both with NTP \
                (`timedatectl set-ntp true`)
                """)
    }
}
