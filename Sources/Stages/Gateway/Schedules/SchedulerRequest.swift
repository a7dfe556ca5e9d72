internal import HTTPServer
internal import JSON
internal import RecordFormat
internal import Schedules

/// A command to the scheduler, and the function that makes the client's answer from the reply. The command is
/// stored in the topic `schedules`. If the scheduler does not reply in time, the command is still carried out,
/// and the answer says that it is under way.
struct SchedulerRequest: Sendable {
    /// The command without the address for its reply.
    let command: ScheduleCommand
    /// The other records to store with the command.
    let otherRecords: [OutgoingRecord]
    /// Makes the answer from the reply. The reply is nil if the scheduler did not reply in time.
    let makeResponse: @Sendable (ScheduleReply.Outcome?) -> HTTPResponse

    /// Returns all records to store, the command last.
    ///
    /// - Parameter replyTo: The partition of `replies` and the name under which the asker waits for the reply.
    func records(replyTo: ScheduleCommand.ReplyAddress?) -> [OutgoingRecord] {
        var command = command
        command.replyTo = replyTo
        return otherRecords + [
            OutgoingRecord(destination: .schedules, key: command.key, value: command.encoded())
        ]
    }
}
