internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Topics

// The ends of the commands: before a timer fires, the loop asks for the end of its partition, and processes the commands
// below that end. Then all cancels that came in time are known (`CommandReadProgress`).

extension SchedulerDecider {
    /// The time before a timer is due at which the loop asks for the end of the commands.
    private static let endQueryAheadMilliseconds: Int64 = 250

    /// Takes the ends that earlier queries asked for.
    func takeCommandEnds(at now: Instant) {
        for (query, result) in stage.writer.takeQueryResults() {
            for answer in awaitedEnds.handle(result, to: query, at: now) {
                let partition = answer.partition.partition
                let position =
                    stage.member.assignedPartitions[partition]?.nextOffset(
                        in: SchedulerInputTopic.schedules.index) ?? 0
                // If the time of the query is unknown, the end proves nothing. No timer is due before the
                // time 0.
                let requestedAt = stage.clock.dueTime(at: answer.askedAt) ?? 0
                // Offsets below the partition's beginning are gone, so they count as processed.
                stage.member.assignedPartitions[partition]?.commandProgress.recordEnd(
                    at: answer.watermarks.high, requestedAt: requestedAt,
                    position: max(position, answer.watermarks.low))
                stage.reportStep(.endsReceived)
            }
        }
    }

    /// Asks for the end of the commands in partitions with a timer that is nearly due. Does not wait for the answer.
    ///
    /// - Parameter time: the cluster's time in milliseconds since 1970.
    func queryCommandEnds(at now: Instant, time: Int64) throws {
        for part in servingPartitions {
            let topicPartition = stage.topicPartition(of: .schedules, number: part.partition)
            let isTimerNearlyDue =
                part.upcomingTimers.first.map { $0.dueAt <= time + Self.endQueryAheadMilliseconds } ?? false
            guard isTimerNearlyDue, part.commandProgress.mustRequestEnd(at: time),
                !awaitedEnds.contains(topicPartition)
            else { continue }
            awaitedEnds.add([topicPartition], at: now)
        }
        try awaitedEnds.submitDueQuery(at: now, with: stage.writer.submit)
    }
}
