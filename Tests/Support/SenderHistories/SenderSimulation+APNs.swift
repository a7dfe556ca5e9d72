internal import APNs
internal import Jobs
internal import Payloads
internal import Sender
internal import Sends
internal import Simulation

// APNs, and the client through which a process pushes to it. A push is checked when the plan hands it over.
//
// A push goes `startPush`, `send`, `endPush`. Without the production's pools it waits in `pushesInFlight` until
// `sendWaitingPushes`, and `endRandomPush` gives its answer.
extension SenderSimulation {
    /// Checks a push of the plan, and takes it in.
    func startPush(of process: SimulatedProcess, push: DeliveryActions.Push) {
        let sheet = push.sheet
        let id = SimulatedJobID(position: sheet.originPosition, line: sheet.originLine(push.line))
        guard let job = jobs[id] else { return reportViolation("\(id) was never made") }
        if now >= process.leaseEnd { reportViolation("\(id) leaves without a lease") }
        if process.pushesInFlight.contains(where: { $0.pushTarget == job.pushTarget }) {
            reportViolation("two pushes at once for \(job.pushTarget)")
        }
        checkPushIsNeeded(by: process, job: id, attempt: sheet.attempt)
        if let reason = staleReason(head: job.head, knownTo: process) {
            reportViolation("\(id) leaves though \(reason)")
        }
        let flight = SimulatedProcess.PushInFlight(
            tag: push.tag, job: id, attempt: sheet.attempt, pushTarget: job.pushTarget,
            sendBy: process.leaseEnd,
            state: .waiting)
        if usesRealPools {
            return submitPush(
                of: process, flight: flight, app: sheet.head.app, over: push.connections)
        }
        process.pushesInFlight.append(flight)
    }

    /// Lets waiting pushes leave if they still may, without the production's pools.
    func sendWaitingPushes(of process: SimulatedProcess) {
        for index in process.pushesInFlight.indices.reversed()
        where process.pushesInFlight[index].state == .waiting {
            let flight = process.pushesInFlight[index]
            if now >= flight.sendBy || (!isCalm && occurs(percent: 5)) {
                process.pushesInFlight.remove(at: index)
                endPush(of: process, flight: flight, by: PushAnswer(.notProcessed(.overdue)))
            } else if !isNetworkCut, occursOrIsCalm(percent: 70) {
                process.pushesInFlight[index].state = send(flight)
            }
        }
    }

    /// Lets APNs process a push or refuse it. Returns the answers to it.
    func send(_ push: SimulatedProcess.PushInFlight) -> SimulatedProcess.PushState {
        guard let job = jobs[push.job] else { return .waiting }
        if job.head.app == Self.faultyApp, let answers = answersDuringAppFault() { return answers }
        // The percentages of the answers. APNs accepts all pushes at the end of a history.
        switch isCalm ? 0 : random.number(below: 100) {
        case 0..<72:
            recordProcessed(push.job)
            return .sent(PushAnswer(answered: .accepted, status: 200), late: nil)
        case 72..<78:
            // The answer is late or never comes.
            recordProcessed(push.job)
            let lateAnswer =
                occurs(percent: 50)
                ? PushAnswer(answered: .accepted, status: 200, isLate: true)
                : PushAnswer(.unknown(.overdue), isLate: true)
            return .sent(PushAnswer(.unknown(.overdue)), late: lateAnswer)
        case 78..<82:
            // The connection breaks before or after the push arrived.
            if occurs(percent: 50) { recordProcessed(push.job) }
            return .sent(PushAnswer(.unknown(.connectionLost)), late: nil)
        case 82..<88: return .sent(PushAnswer(.notProcessed(.refused)), late: nil)
        case 88..<93:
            return .sent(
                PushAnswer(answered: .serverTrouble, status: 503, reason: "ServiceUnavailable"), late: nil)
        case 93..<95:
            return .sent(
                PushAnswer(answered: .tokenThrottled, status: 429, reason: "TooManyRequests"), late: nil)
        case 95..<97:
            return .sent(
                PushAnswer(
                    answered: .tokenGone, status: 410, reason: "Unregistered", timestamp: unixMilliseconds),
                late: nil)
        case 97..<99 where job.head.app == Self.soundApp:
            return .sent(
                PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken"), late: nil)
        default:
            return .sent(PushAnswer(answered: .requestFaulty, status: 400, reason: "BadMessageId"), late: nil)
        }
    }

    /// Returns the answers to a push of the app `wrong`, or nil if its fault does not change them.
    private func answersDuringAppFault() -> SimulatedProcess.PushState? {
        switch appFault {
        case .none, .noKey: return nil
        case .unavailable:
            return .sent(
                PushAnswer(answered: .serverTrouble, status: 503, reason: "ServiceUnavailable"), late: nil)
        case .wrongSetting:
            return .sent(
                occurs(percent: 50)
                    ? PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
                    : PushAnswer(answered: .appMisconfigured, status: 403, reason: "InvalidProviderToken"),
                late: nil)
        case .noAnswer:
            return .sent(PushAnswer(.unknown(.overdue)), late: PushAnswer(.unknown(.overdue), isLate: true))
        }
    }

    /// Notes that APNs processed a push. A start must be processed once, unless its send allows a repetition.
    func recordProcessed(_ id: SimulatedJobID) {
        jobs[id]?.processedCount += 1
        guard let job = jobs[id], job.head.event == .start, job.processedCount > 1 else { return }
        if job.head.unknownStartPolicy == .skip { reportViolation("\(id) was started twice") }
    }

    /// Gives the process the answer to a random push, without the production's pools.
    func endRandomPush(of process: SimulatedProcess) {
        let sentPushes = process.pushesInFlight.indices.filter {
            process.pushesInFlight[$0].state != .waiting
        }
        guard !sentPushes.isEmpty else { return }
        // The faulty app's answers keep their order, because an answer that comes later would describe another time.
        let index =
            sentPushes.first { jobs[process.pushesInFlight[$0].job]?.head.app == Self.faultyApp }
            ?? sentPushes[random.number(below: sentPushes.count)]
        let flight = process.pushesInFlight[index]
        switch flight.state {
        case .waiting: break
        case .overdue(let lateAnswer):
            process.pushesInFlight.remove(at: index)
            endPush(of: process, flight: flight, by: lateAnswer)
        case .sent(let answer, let lateAnswer):
            if let lateAnswer {
                process.pushesInFlight[index].state = .overdue(late: lateAnswer)
            } else {
                process.pushesInFlight.remove(at: index)
            }
            endPush(of: process, flight: flight, by: answer)
        }
    }

    /// Tells the plan the answer to a push.
    func endPush(of process: SimulatedProcess, flight: SimulatedProcess.PushInFlight, by answer: PushAnswer) {
        if case .unknown = answer.end { jobs[flight.job]?.unknownOutcomes += 1 }
        if answer.disposition == .accepted, !answer.isLate {
            process.plan.accepted(flight.tag, at: time)
        } else {
            process.plan.ended(flight.tag, as: answer, at: time)
        }
    }

    /// Returns the reason why the job is stale by the notes that the process has read; nil if it is not stale.
    private func staleReason(head: SheetHead, knownTo process: SimulatedProcess) -> String? {
        if head.event == .end { return nil }
        for note in notes.prefix(process.notesRead) where note.app == head.app {
            if note.cancelledSends.contains(head.send) { return "its send was cancelled" }
            guard note.group == head.group else { continue }
            if head.event == .start, note.endVersion > head.version { return "its group has ended" }
            let isReplaceable = head.event == .update && head.scope == .group && head.isConflatable
            if isReplaceable, max(note.endVersion, note.updateVersion) > head.version {
                return "a newer version is known"
            }
        }
        return nil
    }
}
