internal import HTTPServer
internal import Lifecycle
internal import Schedules
internal import Sends

// Requests that wait for a reply of the scheduler or of the planner.

extension RequestProcessor {
    /// A request whose records are under way to another stage.
    struct AwaitedReply {
        let pending: PendingRequest
        let stageRequest: StageRequest
    }

    /// Sends a request to another stage. It waits for the reply from the beginning, because the reply may arrive before
    /// Kafka's acknowledgement of the record.
    func ask(_ request: StageRequest, for pending: PendingRequest) {
        let name = PendingReplies<AwaitedReply>.makeName()
        pendingReplies.add(AwaitedReply(pending: pending, stageRequest: request), named: name)
        let replyTo = ReplyAddress(partition: repliesPartition, request: name)
        let nextStep = NextStep.awaitReply(name: name, milliseconds: request.waitMilliseconds)
        send(request.records(replyTo: replyTo), of: pending, then: nextStep)
    }

    /// Starts the time limit of the reply if the records are stored. If the reply is already here, the request is
    /// answered and nothing remains to be done. The reply proves that the records are stored, even if Kafka's
    /// acknowledgement is lost.
    func settleStageRequest(
        of pending: PendingRequest, replyName: String, waitMilliseconds: Int, isStored: Bool
    ) {
        if isStored {
            pendingReplies.startWait(for: replyName, milliseconds: waitMilliseconds, at: .now())
            scheduleReplyTimeout()
        } else if pendingReplies.remove(named: replyName) != nil {
            finish(pending, as: .unstored, response: Unavailable.unstored)
        }
    }

    /// Answers the requests to which these replies belong. Other replies are for other gateways, or too late.
    func handle(_ replies: [GatewayReply]) {
        for reply in replies {
            guard let awaited = pendingReplies.remove(named: reply.request) else { continue }
            finish(awaited, with: reply.outcome)
        }
    }

    /// Answers a request with the reply, or with nil if its time for a reply is over.
    private func finish(_ awaited: AwaitedReply, with reply: GatewayReply.Outcome?) {
        let response = awaited.stageRequest.makeResponse(reply)
        let outcome = awaited.stageRequest.outcome(of: response, hasReply: reply != nil)
        finish(awaited.pending, as: outcome, response: response)
    }

    /// Sets the timer to the earliest time limit of a reply.
    private func scheduleReplyTimeout() {
        let timer = replyTimer ?? LoopTimer(on: owner.loop) { [unowned self] in answerOverdue() }
        replyTimer = timer
        guard let deadline = pendingReplies.nextDeadline() else { return timer.cancel() }
        // Requests wait for different times, so a later request may have the earlier limit.
        if !timer.isScheduled || deadline < timer.dueAt { timer.schedule(at: deadline) }
    }

    /// Answers the requests whose time for a reply is over. Their records are stored and still under way.
    private func answerOverdue() {
        for awaited in pendingReplies.removeOverdue(at: .now()) { finish(awaited, with: nil) }
        scheduleReplyTimeout()
    }
}
