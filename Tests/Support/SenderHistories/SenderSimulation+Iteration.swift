internal import APNs
internal import Jobs
internal import Lifecycle
internal import Sender
internal import Simulation

// One iteration of a process's loop: the plan decides, and the simulation carries out its actions.
extension SenderSimulation {
    /// One kind of connections of an app in an environment.
    private struct CapacityKey: Hashable {
        let app: AppEnvironment
        let connections: PushConnections
    }

    /// Lets the plan make one iteration, and checks that it respects the capacities and the permits.
    func runIteration(of process: SimulatedProcess) {
        // Only the first answer about an app's connections counts. The plan must remember it during an iteration.
        var capacities: [CapacityKey: Int] = [:]
        process.plan.step(at: time) { sheet, connections in
            if sheet.head.app == Self.faultyApp, appFault == .noKey {
                return .closed(reason: "no_provider_key")
            }
            let freeCapacity = capacity(ofApp: sheet.head.app, connections: connections, in: process)
            let key = CapacityKey(app: sheet.app.name, connections: connections)
            if capacities[key] == nil { capacities[key] = freeCapacity }
            return .open(capacity: freeCapacity)
        }
        for push in process.plan.actions.pushes {
            capacities[CapacityKey(app: push.sheet.app.name, connections: push.connections), default: 0] -= 1
        }
        if capacities.values.contains(where: { $0 < 0 }) {
            reportViolation("more pushes than the connections take")
        }
        performActions(of: process)
        if process.plan.takenPermitCount > limits.permitsMax { reportViolation("more pushes than permits") }
    }

    /// Returns the number of pushes that an app's connections take now. Without the production's pools it is random.
    private func capacity(ofApp app: String, connections: PushConnections, in process: SimulatedProcess)
        -> Int
    {
        if usesRealPools {
            return pool(of: process, app: app, connections: connections).stateMachine.capacity
        }
        if app == Self.faultyApp, appFault == .noAnswer { return random.number(below: 2) }
        return isCalm ? 4 : random.number(below: 4)
    }

    /// Carries out the plan's actions, and those that they lead to.
    func performActions(of process: SimulatedProcess) {
        let actions = process.plan.actions
        process.plan.actions.removeAll()
        for push in actions.pushes { startPush(of: process, push: push) }
        if actions.mustWithdrawPushes { withdrawPushes(of: process) }
        checkLease(of: actions.writes.map(\.write), by: process)
        process.pendingWrites += actions.writes
        performConsumerActions(actions, of: process)
        if !actions.commits.isEmpty || actions.isLastCommit {
            let commit = SimulatedProcess.PendingCommit(
                number: actions.commitNumber, offsets: actions.commits, epoch: process.epoch)
            if actions.isLastCommit { process.lastCommit = commit } else { process.commits.append(commit) }
        }
        if actions.isReleased {
            if process.laneRelease == .requested { process.laneRelease = .done }
            process.receiptReads.forgetAll()
        }
        checkReportedTokens(actions)
        if process.plan.actions.hasAny { performActions(of: process) }
    }

    private func withdrawPushes(of process: SimulatedProcess) {
        if usesRealPools { return withdrawAll(of: process) }
        let withdrawn = process.pushesInFlight.filter { $0.state == .waiting }
        process.pushesInFlight.removeAll { $0.state == .waiting }
        for push in withdrawn { process.plan.ended(push.tag, as: PushAnswer(.withdrawn), at: time) }
    }

    /// Reads receipts, and pauses and resumes partitions.
    private func performConsumerActions(_ actions: DeliveryActions, of process: SimulatedProcess) {
        for read in actions.receiptReads { process.receiptReads.planRead(lane: read.lane, from: read.from) }
        for pause in actions.pauses {
            process.isPaused[SimulatedKafka.Partition(lane: pause.lane, topic: pause.topic).index] = true
        }
        for resume in actions.resumes {
            let partition = SimulatedKafka.Partition(lane: resume.lane, topic: resume.topic)
            process.isPaused[partition.index] = false
            if let from = resume.from { process.positions[partition.index] = from }
        }
    }

    /// Checks the tokens that the plan reports: as dead, or as proven (accepted by APNs for the first time).
    private func checkReportedTokens(_ actions: DeliveryActions) {
        for token in actions.deadTokens
        where token.sheet.head.app == Self.faultyApp && token.reason != "Unregistered" {
            reportViolation("a wrong setting costs a token")
        }
        for token in actions.provenTokens {
            let job = SimulatedJobID(
                position: token.sheet.originPosition, line: token.sheet.originLine(token.line))
            if jobs[job]?.processedCount == 0 { reportViolation("a token is reported as proven that is not") }
            if !token.sheet.unprovenLines.contains(token.line) {
                reportViolation("a proven token is reported as proven")
            }
        }
    }
}
