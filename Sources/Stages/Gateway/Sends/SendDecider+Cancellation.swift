internal import CatalogRecords
internal import Identifiers
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Telemetry

extension SendDecider {
    /// Returns the records that cancel a send. The cancel has the key of the send, so the planner reads it after the
    /// send.
    ///
    /// - Parameters:
    ///   - key: The scope of the send, which is its record key.
    ///   - recipient: The recipient, if the send is for one recipient of a shared group.
    ///   - timer: The owner of the timer if the send waits for its time. Then the scheduler gets a cancel, too.
    ///     If the timer fires before the scheduler reads that cancel, the planner's cancel still stops the send.
    static func cancelRecords(
        of id: SendID, key: ScopeKey, recipient: Recipient?, timer: ScheduleOwner?, in context: RequestContext
    ) -> [OutgoingRecord] {
        let cancellation = Cancellation(
            send: id.text, app: context.app.id, key: key, recipient: recipient,
            acceptedAt: context.acceptedAt)
        var records = [
            context.auditRecordOfSend(action: "send.cancel", subject: id.text),
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
