/// This machine's clock beside the cluster's: a record left at one time, was stamped, and was known to be stored at
/// another. All in milliseconds since 1970.
struct ClockComparison {
    let sent: Int64
    /// Nil where the cluster does not say.
    let stamped: Int64?
    let answered: Int64

    /// How far this clock is ahead at least; negative: behind; 0 where the stamp fits between.
    private var ahead: Int64? {
        guard let stamped else { return nil }
        return stamped < sent ? sent - stamped : stamped > answered ? answered - stamped : 0
    }

    func finding(allowed: Int64) -> Finding {
        guard let ahead else {
            return Finding(
                subject: "clock", verdict: .doubt, text: "the cluster does not stamp records of audit")
        }
        if ahead.magnitude <= allowed.magnitude {
            return Finding(
                subject: "clock", verdict: .good, text: "agrees with the cluster's to \(answered - sent) ms")
        }
        let side = ahead > 0 ? "ahead of" : "behind"
        return Finding(
            subject: "clock", verdict: .wrong,
            text: """
                this machine's is \(ahead.magnitude) ms \(side) the cluster's; set both by NTP \
                (`timedatectl set-ntp true`)
                """)
    }
}
