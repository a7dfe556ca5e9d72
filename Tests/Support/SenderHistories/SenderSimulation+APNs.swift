internal import APNs
internal import Jobs
internal import Payloads
internal import Sender
internal import Sends
internal import Simulation

// APNs, and the client in front of it.
extension SenderSimulation {
    func startPush(of process: SimulatedProcess, push: DeliveryActions.Push) {
        let sheet = push.sheet
        let name = SimulatedJobID(position: sheet.originPosition, line: sheet.originLine(push.line))
        guard let job = jobs[name] else { return recordFault("\(name) was never made") }
        if now >= process.leaseEnd { recordFault("\(name) leaves without a lease") }
        if process.pushesInFlight.contains(where: { $0.subject == job.subject }) {
            recordFault("two pushes at once for \(job.subject)")
        }
        checkPushIsNeeded(by: process, job: name, attempt: sheet.attempt)
        if let stale = staleReason(head: job.head, job: job, knownTo: process) {
            recordFault("\(name) leaves though \(stale)")
        }
        let flight = SimulatedProcess.PushInFlight(
            tag: push.tag, job: name, attempt: sheet.attempt, subject: job.subject, sendBy: process.leaseEnd,
            state: .waiting)
        if usesRealPools {
            return self.submitPush(
                of: process, flight: flight, app: sheet.head.app, isSuspect: push.isSuspect)
        }
        process.pushesInFlight.append(flight)
    }

    /// Lets waiting pushes leave if they still may.
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

    func send(_ push: SimulatedProcess.PushInFlight) -> SimulatedProcess.PushState {
        guard let job = jobs[push.job] else { return .waiting }
        if job.head.app == "wrong", appFault == .unavailable {
            return .sent(
                PushAnswer(answered: .serverTrouble, status: 503, reason: "ServiceUnavailable"), late: nil)
        }
        if job.head.app == "wrong", appFault == .wrongSetting {
            return .sent(
                occurs(percent: 50)
                    ? PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
                    : PushAnswer(answered: .appMisconfigured, status: 403, reason: "InvalidProviderToken"),
                late: nil)
        }
        if job.head.app == "wrong", appFault == .noAnswer {
            return .sent(PushAnswer(.unknown(.overdue)), late: PushAnswer(.unknown(.overdue), isLate: true))
        }
        switch isCalm ? 0 : random.number(below: 100) {
        case 0..<72:
            recordProcessed(push.job)
            return .sent(PushAnswer(answered: .accepted, status: 200), late: nil)
        case 72..<78:
            // The answer is late or never comes.
            recordProcessed(push.job)
            let late =
                occurs(percent: 50)
                ? PushAnswer(answered: .accepted, status: 200, isLate: true)
                : PushAnswer(.unknown(.overdue), isLate: true)
            return .sent(PushAnswer(.unknown(.overdue)), late: late)
        case 78..<82:
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
        case 97..<99 where job.head.app == "shop":
            return .sent(
                PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken"), late: nil)
        default:
            return .sent(PushAnswer(answered: .requestFaulty, status: 400, reason: "BadMessageId"), late: nil)
        }
    }

    /// Notes that APNs processed a push.
    func recordProcessed(_ name: SimulatedJobID) {
        jobs[name]?.processedCount += 1
        guard let job = jobs[name], job.head.event == .start, job.processedCount > 1 else { return }
        if job.head.unknownStartPolicy == .skip { recordFault("\(name) was started twice") }
    }

    /// Ends one push. The order is random.
    func endRandomPush(of process: SimulatedProcess) {
        let ending = process.pushesInFlight.indices.filter { process.pushesInFlight[$0].state != .waiting }
        guard !ending.isEmpty else { return }
        // Answers about a wrong setting keep their order. A late one would describe another time.
        let index =
            ending.first { jobs[process.pushesInFlight[$0].job]?.head.app == "wrong" }
            ?? ending[random.number(below: ending.count)]
        let flight = process.pushesInFlight[index]
        switch flight.state {
        case .waiting: break
        case .overdue(let late):
            process.pushesInFlight.remove(at: index)
            endPush(of: process, flight: flight, by: late)
        case .sent(let answer, let late):
            if let late {
                process.pushesInFlight[index].state = .overdue(late: late)
            } else {
                process.pushesInFlight.remove(at: index)
            }
            endPush(of: process, flight: flight, by: answer)
        }
    }

    func endPush(of process: SimulatedProcess, flight: SimulatedProcess.PushInFlight, by answer: PushAnswer) {
        if case .unknown = answer.end { jobs[flight.job]?.unknownOutcomes += 1 }
        if answer.disposition == .accepted, !answer.isLate {
            process.plan.accepted(flight.tag, at: time)
        } else {
            process.plan.ended(flight.tag, as: answer, at: time)
        }
    }

    /// Returns the reason why the process must know that the push is stale; nil if it is not.
    private func staleReason(head: SheetHead, job: SimulatedJob, knownTo process: SimulatedProcess) -> String?
    {
        if head.event == .end { return nil }
        for note in notes.prefix(process.notesRead) where note.app == head.app {
            if note.cancelledSends.contains(head.send) { return "its send was cancelled" }
            guard note.group == head.group else { continue }
            if head.event == .start, note.endVersion > head.version { return "its group has ended" }
            if head.event == .update, head.scope == .group, head.isConflatable,
                max(note.endVersion, note.updateVersion) > head.version
            {
                return "a newer version is known"
            }
        }
        return nil
    }
}
