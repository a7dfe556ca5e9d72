internal import Jobs
internal import Lifecycle
internal import Sender
internal import Simulation

// The consumer group: it assigns each lane to one process. A rebalance takes all lanes from all processes first.
// Processes are killed and stopped.
extension SenderSimulation {
    /// The time that the group gives a process to finish its pushes before it takes the lanes.
    private static let revocationMilliseconds = 10_000

    /// Starts a rebalance: all processes give up their lanes.
    func rebalance() {
        isRebalancing = true
        revokeLanes()
    }

    private func revokeLanes() {
        for process in processes {
            let isReachable = process.isLoopRunning && !process.hasLostLanes
            guard isReachable, !process.lanes.isEmpty, process.laneRelease == .notRequested else {
                continue
            }
            process.plan.revoked(by: now.advanced(byMilliseconds: Self.revocationMilliseconds), at: time)
            process.laneRelease = .requested
            performActions(of: process)
        }
    }

    /// Advances a rebalance: when no process has lanes, each lane goes to a random process. Starts one if a lane has no
    /// owner.
    func settleGroup() {
        for process in processes where process.laneRelease == .done {
            process.lanes = []
            process.epoch += 1
            process.laneRelease = .notRequested
        }
        let ownedLaneCount = { [self] in processes.reduce(0) { $0 + $1.lanes.count } }
        if isRebalancing {
            revokeLanes()
            if ownedLaneCount() == 0 { assignLanes() }
        } else if ownedLaneCount() < Self.lanes.count {
            rebalance()
        }
    }

    private func assignLanes() {
        let members = processes.filter { $0.isLoopRunning && !$0.hasLostLanes }
        guard !members.isEmpty else { return }
        isRebalancing = false
        for lane in Self.lanes {
            let member = members[random.number(below: members.count)]
            member.lanes.insert(lane)
        }
        for member in members where !member.lanes.isEmpty { notifyOfAssignment(member) }
    }

    private func notifyOfAssignment(_ member: SimulatedProcess) {
        let starts = member.lanes.sorted().map(kafka.laneStart)
        for start in starts {
            member.mustKnowReceiptsBelow[start.lane] = kafka.receiptsEndOffset(ofLane: start.lane)
            for topic in JobTopic.allCases {
                let partition = SimulatedKafka.Partition(lane: start.lane, topic: topic)
                member.positions[partition.index] = start.partitions[topic.rawValue].base
                member.isPaused[partition.index] = true
            }
        }
        member.lastPoll = now
        // An assignment proves the ownership of the lanes, as in `AssignmentState`.
        member.doubtsItsLanes = false
        member.epoch += 1
        member.plan.assigned(starts)
        performActions(of: member)
    }

    /// Kills a random process as SIGKILL does, and starts another one. Only records, commits and requests that have
    /// left the process survive.
    func killProcess() {
        let index = random.number(below: processes.count)
        let process = processes[index]
        disturbances += 1
        duplicatesMax += limits.permitsMax
        // Some records have reached the cluster.
        while let (_, write) = process.pendingWrites.first, occurs(percent: 50) {
            process.pendingWrites.removeFirst()
            _ = append(write)
        }
        // Before the group notices the death, it still accepts commits that were sent.
        for commit in process.commits where commit.isAccepted == nil {
            guard occurs(percent: 50) else { break }
            _ = decide(commit, of: process)
        }
        // Others are stored a moment later, in less time than a successor waits. The rest is lost.
        let due = now.advanced(byMilliseconds: random.number(below: Self.resultMillisecondsMax))
        while let (_, write) = process.pendingWrites.first, occurs(percent: 50) {
            process.pendingWrites.removeFirst()
            recordsInTransit.append((max(due, recordsInTransit.last?.due ?? due), write))
        }
        deliverRequests(ofKilled: process)
        processes.remove(at: index)
        addProcess()
        isRebalancing = isRebalancing || !process.lanes.isEmpty
        if isRebalancing { rebalance() }
    }

    /// Stops a process as SIGSTOP does. It continues in a later step.
    func stopProcess() {
        let process = processes[random.number(below: processes.count)]
        guard process.stoppedAt == nil, process.laneRelease != .requested else { return }
        process.stoppedAt = now
        disturbances += 1
        duplicatesMax += limits.permitsMax
    }

    /// The longest stall. It is longer than a session.
    private static let stallMillisecondsMax = 12_000

    /// Stalls the event loop of a random process, as a loaded machine does. The answers to its pushes come so late that
    /// another owner may push again.
    func stallLoop() {
        let process = processes[random.number(below: processes.count)]
        guard process.isLoopRunning else { return }
        process.stalledUntil = now.advanced(byMilliseconds: random.number(below: Self.stallMillisecondsMax))
        disturbances += 1
        duplicatesMax += limits.permitsMax
    }
}
