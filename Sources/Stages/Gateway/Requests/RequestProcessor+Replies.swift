internal import HTTPServer
internal import Lifecycle
internal import Schedules

// Requests whose command is under way to the scheduler, which sends a reply to each command.

extension RequestProcessor {
    /// A request whose command is under way to the scheduler.
    struct AwaitedReply {
        let pending: PendingRequest
        /// Makes the answer. The outcome is nil if the scheduler did not reply in time.
        let makeResponse: @Sendable (ScheduleReply.Outcome?) -> HTTPResponse
    }

    /// Sends a command to the scheduler. The request waits for the reply from the beginning, because the reply may
    /// arrive before Kafka's acknowledgement of the command.
    func ask(_ request: SchedulerRequest, for pending: PendingRequest) {
        let name = PendingReplies<AwaitedReply>.makeName()
        pendingReplies.add(AwaitedReply(pending: pending, makeResponse: request.makeResponse), named: name)
        let replyTo = ScheduleCommand.ReplyAddress(partition: repliesPartition, request: name)
        send(request.records(replyTo: replyTo), of: pending, then: .awaitReply(name: name))
    }

    /// Starts the time limit of the reply if the command is stored. If the reply is already here, the request is
    /// answered and nothing remains to be done. The reply proves that the command is stored, even if Kafka's
    /// acknowledgement is lost.
    func settleCommand(of pending: PendingRequest, replyName: String, isStored: Bool) {
        if isStored {
            pendingReplies.startWait(for: replyName, at: .now())
            scheduleReplyTimeout()
        } else if pendingReplies.remove(named: replyName) != nil {
            finish(pending, as: .unstored, response: Unavailable.unstored)
        }
    }

    /// Answers the requests to which these replies belong. Other replies are for other gateways, or too late.
    func handle(_ replies: [ScheduleReply]) {
        for reply in replies {
            guard let awaited = pendingReplies.remove(named: reply.request) else { continue }
            finish(awaited.pending, as: .answered, response: awaited.makeResponse(reply.outcome))
        }
    }

    /// Sets the timer to the earliest time limit of a reply.
    private func scheduleReplyTimeout() {
        let timer = replyTimer ?? LoopTimer(on: owner.loop) { [unowned self] in answerOverdue() }
        replyTimer = timer
        guard let deadline = pendingReplies.nextDeadline() else { return timer.cancel() }
        if !timer.isScheduled { timer.schedule(at: deadline) }
    }

    /// Answers the requests whose time for a reply is over. Their commands are stored and still under way.
    private func answerOverdue() {
        for awaited in pendingReplies.removeOverdue(at: .now()) {
            finish(awaited.pending, as: .underWay, response: awaited.makeResponse(nil))
        }
        scheduleReplyTimeout()
    }
}
