internal import Kafka
internal import Lifecycle
internal import Schedules
internal import StageSupport
internal import Topics

// A time probe is a record that the scheduler writes to one of its partitions and reads back there. The cluster's stamp
// on it is the current time, even if no commands come.

extension SchedulerDecider {
    /// The pause between two time probes.
    private static let timeProbeIntervalMilliseconds = 1000
    /// A stamp is fresh if it is younger than this time. Within this time before a timer is due, a fresh
    /// stamp is needed.
    private static let freshStampMilliseconds = 10_000

    /// Writes a time probe if one is needed: if a timer is due soon, and no batch has brought a stamp lately or a clock
    /// has jumped.
    ///
    /// - Parameters:
    ///   - time: the cluster's time in milliseconds since 1970. Nil if it is unknown.
    ///   - nextDueAt: the due time of the next timer, in milliseconds since 1970.
    func sendTimeProbeIfNeeded(at now: Instant, time: Int64?, nextDueAt: Int64) {
        let isTimerDueSoon = time.map { nextDueAt - $0 < Int64(Self.freshStampMilliseconds) } ?? true
        let isStampTooOld =
            lastStampedAt.map { now.milliseconds(since: $0) >= Self.freshStampMilliseconds } ?? true
        let isProbeNeeded = isTimerDueSoon && (isStampTooOld || isClockDoubtful)
        guard isProbeNeeded, now >= nextTimeProbe,
            let partition = servingPartitions.map(\.partition).min()
        else { return }
        nextTimeProbe = now.advanced(byMilliseconds: Self.timeProbeIntervalMilliseconds)
        var headers = RecordHeaders(capacity: 0)
        let probe = ScheduleRequest.timeProbeBytes
        stage.writer.send(
            to: stage.layout.name(of: .schedules), partition: partition, key: nil, value: probe.span,
            headers: &headers)
        stage.reportStep(.timeProbeSent)
    }
}
