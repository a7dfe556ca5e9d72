internal import APNs
internal import LiveActivity
internal import Sender
internal import Simulation

// APNs, and the client in front of it.
extension SenderWorld {
    func begin(_ process: WorldProcess, _ push: DeliveryActions.Push) {
        let sheet = push.sheet
        let name = WorldJobName(place: sheet.place, line: sheet.originLine(push.line))
        guard let job = jobs[name] else { return fault("\(name) was never made") }
        if now >= process.lease { fault("\(name) leaves without a lease") }
        if process.flights.contains(where: { $0.subject == job.subject }) {
            fault("two pushes at once for \(job.subject)")
        }
        checkKnown(process, name, attempt: sheet.attempt)
        if let stale = whyStale(job.head, job, knownTo: process) { fault("\(name) leaves though \(stale)") }
        let flight = WorldProcess.Flight(
            tag: push.tag, job: name, attempt: sheet.attempt, subject: job.subject, leaveBy: process.lease,
            fate: .waiting)
        if isJoined { return self.push(process, flight, app: sheet.head.app, isSuspect: push.isSuspect) }
        process.flights.append(flight)
    }

    /// Lets waiting pushes leave if they still may.
    func leave(_ process: WorldProcess) {
        for index in process.flights.indices.reversed() where process.flights[index].fate == .waiting {
            let flight = process.flights[index]
            if now >= flight.leaveBy || (!isCalm && chance(5)) {
                process.flights.remove(at: index)
                end(process, flight, by: PushAnswer(.notProcessed(.overdue)))
            } else if !isCut, likely(70) {
                process.flights[index].fate = send(flight)
            }
        }
    }

    func send(_ flight: WorldProcess.Flight) -> WorldProcess.Fate {
        guard let job = jobs[flight.job] else { return .waiting }
        if job.head.app == "wrong", appFault == .trouble {
            return .sent(
                PushAnswer(answered: .serverTrouble, status: 503, reason: "ServiceUnavailable"), late: nil)
        }
        if job.head.app == "wrong", appFault == .wrongSetting {
            return .sent(
                chance(50)
                    ? PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
                    : PushAnswer(answered: .appMisconfigured, status: 403, reason: "InvalidProviderToken"),
                late: nil)
        }
        if job.head.app == "wrong", appFault == .silence {
            return .sent(PushAnswer(.unknown(.overdue)), late: PushAnswer(.unknown(.overdue), isLate: true))
        }
        switch isCalm ? 0 : random.below(100) {
        case 0..<72:
            processed(flight.job)
            return .sent(PushAnswer(answered: .accepted, status: 200), late: nil)
        case 72..<78:
            // The answer is late or never comes.
            processed(flight.job)
            let late =
                chance(50)
                ? PushAnswer(answered: .accepted, status: 200, isLate: true)
                : PushAnswer(.unknown(.overdue), isLate: true)
            return .sent(PushAnswer(.unknown(.overdue)), late: late)
        case 78..<82:
            if chance(50) { processed(flight.job) }
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
                PushAnswer(answered: .tokenGone, status: 410, reason: "Unregistered", timestamp: wall),
                late: nil)
        case 97..<99 where job.head.app == "shop":
            return .sent(
                PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken"), late: nil)
        default:
            return .sent(PushAnswer(answered: .requestFaulty, status: 400, reason: "BadMessageId"), late: nil)
        }
    }

    /// Notes that APNs processed a push.
    func processed(_ name: WorldJobName) {
        jobs[name]?.processed += 1
        guard let job = jobs[name], job.head.event == .start, job.processed > 1 else { return }
        if job.head.unknownStartPolicy == .skip { fault("\(name) was started twice") }
    }

    /// Ends one push. The order is random.
    func answer(_ process: WorldProcess) {
        let ending = process.flights.indices.filter { process.flights[$0].fate != .waiting }
        guard !ending.isEmpty else { return }
        // Answers about a wrong setting keep their order. A late one would describe another time.
        let index =
            ending.first { jobs[process.flights[$0].job]?.head.app == "wrong" }
            ?? ending[random.below(ending.count)]
        let flight = process.flights[index]
        switch flight.fate {
        case .waiting: break
        case .overdue(let late):
            process.flights.remove(at: index)
            end(process, flight, by: late)
        case .sent(let answer, let late):
            if let late {
                process.flights[index].fate = .overdue(late: late)
            } else {
                process.flights.remove(at: index)
            }
            end(process, flight, by: answer)
        }
    }

    func end(_ process: WorldProcess, _ flight: WorldProcess.Flight, by answer: PushAnswer) {
        if case .unknown = answer.end { jobs[flight.job]?.doubts += 1 }
        if answer.disposition == .accepted, !answer.isLate {
            process.plan.accepted(flight.tag, at: time)
        } else {
            process.plan.ended(flight.tag, as: answer, at: time)
        }
    }

    /// Returns the reason why the process must know that the push is stale; nil if it is not.
    private func whyStale(_ head: SheetHead, _ job: WorldJob, knownTo process: WorldProcess) -> String? {
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
