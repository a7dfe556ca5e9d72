import Broker
import CSimulatedLibrary
import Lifecycle

/// The membership of a consumer in its group, as librdkafka keeps it: joins, heartbeats, rebalances and fences.
final class GroupMembership {
    private static let heartbeatMilliseconds = 1000
    private static let retryMilliseconds = 200

    enum State: Equatable {
        /// The next join is sent at this time.
        case waitingToJoin(Instant)
        case joining
        case syncing
        case stable
        /// The loop has to release its partitions before the member joins again.
        case releasing
        case fenced
    }

    /// A change that the next poll hands to the loop.
    enum Change {
        case assigned([Partition])
        case revoked([Partition])
    }

    private unowned let client: SimulatedClient
    let group: String
    private(set) var state: State
    private(set) var generation: Int32 = -1
    private(set) var memberID = ""
    private var isLeader = false
    private var members: [JoinGroupResponse.Member] = []
    private(set) var assigned: [Partition] = []
    private var changes: [Change] = []
    /// Whether the group has given the partitions to another member.
    private(set) var isAssignmentLost = false
    private var topics: [String] = []
    private var lastHeartbeat: Instant
    private var lastAnswer: Instant
    /// The number of the newest request. Answers to older requests are ignored.
    private var requestNumber = 0
    private var memoryNumber = 0

    init(of client: SimulatedClient, in group: String) {
        self.client = client
        self.group = group
        let now = MachineClock.now
        (state, lastHeartbeat, lastAnswer) = (.waitingToJoin(now), now, now)
    }

    private var slot: CoordinatorSlot { client.cluster.slot(of: group) }
    private var instance: String? { client.properties.instance }

    func subscribe(to topics: [String]) {
        self.topics = topics
        serve()
    }

    /// Takes the next change for the loop.
    func takeChange() -> Change? { changes.isEmpty ? nil : changes.removeFirst() }

    // MARK: The library's thread

    /// Performs the due work. The client's own thread does it in the library, so it does not depend on the loop.
    func serve() {
        if client.isDead || topics.isEmpty { return }
        let now = client.cluster.now
        if slot.memoryNumber != memoryNumber {
            memoryNumber = slot.memoryNumber
            // The answer to a join or a sync is lost with the connection.
            if state == .joining || state == .syncing { state = .waitingToJoin(now) }
        }
        switch state {
        case .waitingToJoin(let time): if now >= time { join() }
        case .stable, .releasing: heartbeatIfDue(at: now)
        case .joining, .syncing, .fenced: break
        }
        client.cluster.deliverAnswers()
    }

    private func send(_ request: GroupRequest, then handle: @escaping (GroupResponse) -> Void) {
        requestNumber += 1
        let number = requestNumber
        slot.handle(request, from: "rdkafka") { [weak self] response in
            guard let self, number == requestNumber, !client.isDead else { return }
            if client.cluster.losesAnswer() { return repeatLostRequest() }
            lastAnswer = client.cluster.now
            handle(response)
        }
    }

    /// A join or a sync without an answer is sent again, with the member's id as the client knows it.
    private func repeatLostRequest() {
        if state == .joining || state == .syncing { retryLater() }
    }

    private func retryLater() {
        state = .waitingToJoin(client.cluster.now.advanced(byMilliseconds: Self.retryMilliseconds))
    }

    private func join() {
        guard slot.isAvailable else { return retryLater() }
        state = .joining
        let metadata = Array(topics.joined(separator: "\n").utf8)
        let request = GroupRequest.join(
            JoinGroupRequest(
                version: 5, groupID: group,
                sessionTimeoutMilliseconds: Int32(client.properties.sessionMilliseconds),
                rebalanceTimeoutMilliseconds: 45_000, memberID: memberID, instanceID: instance,
                protocolType: "consumer", protocols: [.init(name: "range", metadata: metadata)]))
        send(request) { [unowned self] in
            if case .join(let response) = $0 { handle(response) }
        }
        // The library sends the first join again if its connection breaks. The coordinator then takes the copy for a
        // restarted member, and fences this one.
        if memberID.isEmpty, client.cluster.losesAnswer() { slot.handle(request, from: "rdkafka") { _ in } }
    }

    private func handle(_ response: JoinGroupResponse) {
        switch response.error {
        case .none:
            (generation, memberID) = (response.generation, response.memberID)
            isLeader = response.leaderID == response.memberID
            members = response.members
            sync()
        case .memberIDRequired:
            memberID = response.memberID
            join()
        case .unknownMemberID:
            memberID = ""
            retryLater()
        case .fencedInstanceID: fence()
        default: retryLater()
        }
    }

    private func sync() {
        guard slot.isAvailable else { return retryLater() }
        state = .syncing
        send(
            .sync(
                SyncGroupRequest(
                    groupID: group, generation: generation, memberID: memberID, instanceID: instance,
                    protocolType: "consumer", protocolName: "range",
                    assignments: isLeader ? assignments() : []))
        ) { [unowned self] in
            if case .sync(let response) = $0 { handle(response) }
        }
    }

    private func handle(_ response: SyncGroupResponse) {
        switch response.error {
        case .none:
            state = .stable
            lastHeartbeat = client.cluster.now
            isAssignmentLost = false
            let lines = String(decoding: response.assignment, as: UTF8.self).split(separator: "\n")
            assigned = lines.compactMap { Self.partition(from: $0) }
            changes.append(.assigned(assigned))
            client.process.wake()
        case .unknownMemberID:
            memberID = ""
            retryLater()
        case .fencedInstanceID: fence()
        default: retryLater()
        }
    }

    /// Reads a line of an assignment, such as `flotilla.jobs/3`.
    private static func partition(from line: Substring) -> Partition? {
        guard let slash = line.lastIndex(of: "/"), let number = Int32(line[line.index(after: slash)...])
        else {
            return nil
        }
        return Partition(topic: String(line[..<slash]), number: number)
    }

    /// Assigns as the assignor `range` does: each topic by itself, with the static members in the order of their names.
    private func assignments() -> [SyncGroupRequest.Assignment] {
        let subscriptions = members.map { member in
            (member, String(decoding: member.metadata, as: UTF8.self).split(separator: "\n").map(String.init))
        }
        .sorted { ($0.0.instanceID ?? $0.0.memberID) < ($1.0.instanceID ?? $1.0.memberID) }
        var lines: [String: [String]] = [:]
        for topic in Set(subscriptions.flatMap(\.1)).sorted() {
            let readers = subscriptions.filter { $0.1.contains(topic) }.map(\.0)
            let count = client.cluster.topics[topic]?.count ?? 0
            var next = 0
            for (index, reader) in readers.enumerated() {
                let share = count / readers.count + (index < count % readers.count ? 1 : 0)
                lines[reader.memberID, default: []] += (next..<next + share).map { "\(topic)/\($0)" }
                next += share
            }
        }
        return members.map {
            .init(
                memberID: $0.memberID,
                assignment: Array((lines[$0.memberID] ?? []).joined(separator: "\n").utf8))
        }
    }

    // MARK: Heartbeats

    private func heartbeatIfDue(at now: Instant) {
        if now.milliseconds(since: lastAnswer) >= client.properties.sessionMilliseconds, state == .stable {
            return lose()
        }
        guard now.milliseconds(since: lastHeartbeat) >= Self.heartbeatMilliseconds else { return }
        lastHeartbeat = now
        guard slot.isAvailable else { return }
        send(
            .heartbeat(
                HeartbeatRequest(
                    groupID: group, generation: generation, memberID: memberID, instanceID: instance))
        ) { [unowned self] in
            if case .heartbeat(let response) = $0 { handle(response) }
        }
    }

    private func handle(_ response: HeartbeatResponse) {
        guard state == .stable else { return }
        switch response.error {
        case .rebalanceInProgress: release()
        case .unknownMemberID:
            memberID = ""
            lose()
        case .illegalGeneration: lose()
        case .fencedInstanceID: fence()
        default: break
        }
    }

    /// Lets the loop give its partitions back, before the member joins again.
    private func release() {
        state = .releasing
        changes.append(.revoked(assigned))
        client.process.wake()
    }

    /// Notes that the group may have given the partitions to another member.
    private func lose() {
        isAssignmentLost = true
        release()
    }

    private func fence() {
        state = .fenced
        client.fatalError = (
            RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, "the group has another member of this name"
        )
        client.process.wake()
    }

    /// Notes that the loop has released its partitions.
    func noteRelease() {
        assigned = []
        guard state == .releasing else { return }
        state = .waitingToJoin(client.cluster.now)
        serve()
    }
}
