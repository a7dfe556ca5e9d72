internal import CatalogRecords
internal import Identifiers
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Telemetry

extension SendDecider {
    /// Returns the records that cancel a send. The cancel has the key of the send, so Kafka orders it after the send.
    ///
    /// - Parameter timer: The owner of the timer if the send waits for its time. Then the scheduler gets a
    ///   cancel, too. The timer may fire before the scheduler reads that cancel. Then the planner's cancel
    ///   still stops the send.
    static func cancelRecords(
        of id: SendID, key: ScopeKey, recipient: Recipient?, timer: ScheduleOwner?, in context: RequestContext
    ) -> [OutgoingRecord] {
        let cancellation = Cancellation(
            send: id.text, app: context.app.id, key: key, recipient: recipient,
            acceptedAt: max(0, context.now.milliseconds))
        var records = [
            context.auditRecord(action: "send.cancel", subject: id.text),
            OutgoingRecord(destination: .sends, key: key.bytes, value: cancellation.encoded()),
        ]
        if let timer {
            let command = context.scheduleCommand(
                .cancel(.send(id.text)), of: timer, acceptedAt: cancellation.acceptedAt)
            records.append(
                OutgoingRecord(destination: .schedules, key: command.key, value: command.encoded()))
        }
        return records
    }
}
