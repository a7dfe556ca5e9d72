import Testing

@testable import Broker

/// Random histories of transactional ids. Producers work, restart, fence each other and stop. The log and the markers
/// are slow or fail, and the broker dies at any append. Each durable record is checked against the rules.
struct TransactionSimulationTests {
    @Test(arguments: 0..<8)
    func `no decision is reversed, no marker is missing, and no fenced producer succeeds`(batch: Int) {
        for seed in Simulations.seeds(of: batch) {
            var simulation = TransactionSimulation(seed: seed)
            if let fault = simulation.firstFault(steps: 80) {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }
}

/// One random history of two transactional ids, equal for equal seeds. A function that returns a `String` returns the
/// first fault in words, or nil.
struct TransactionSimulation {
    /// A running producer, which may have been fenced without knowing it.
    private struct Client {
        var producer: Producer
        /// The acknowledged partitions of its transaction.
        var added: Set<PartitionID> = []
        /// A request to add a partition that has no answer.
        var awaitedAdd: (token: ReplyToken, partition: PartitionID)?
        /// A request to end the transaction that has no answer.
        var awaitedEnd: (token: ReplyToken, commits: Bool)?
        var hasOpenTransaction = false
        /// Whether it commits or aborts, from its first EndTxn until a success. It may only repeat the same decision.
        var decidedToCommit: Bool?
    }

    /// A producer id with its epoch, which identifies one owner of a transactional id.
    private struct Owner: Hashable {
        let id: Int64
        let epoch: Int16
    }

    private var dice: Dice
    private let driver: TransactionDriver
    private let names = ["x", "y"]
    private var clients: [Client] = []
    private var awaitedProducers: [(token: ReplyToken, name: String)] = []
    /// All producers that the coordinator has returned.
    private var owners: Set<Owner> = []
    /// The newest producer that each name was given to.
    private var newest: [String: Producer] = [:]
    /// The number of inspected events.
    private var inspectedCount = 0
    /// The newest state of each transactional id in the log.
    private var states: [String: TransactionFacts] = [:]
    /// The newest decision about each transactional id.
    private var decisions: [String: TransactionFacts] = [:]
    /// The marked partitions of each prepared transaction, by transactional id.
    private var marked: [String: Set<PartitionID>] = [:]

    init(seed: UInt64) {
        dice = Dice(seed: seed)
        var settings = TransactionSettings()
        settings.producerIDBlock = 2
        driver = TransactionDriver(settings)
        driver.storesAtOnce = dice.chance(percent: 40)
        driver.marksAtOnce = dice.chance(percent: 50)
    }

    /// Runs the history, and returns its first fault, or nil.
    mutating func firstFault(steps: Int) -> String? {
        for step in 0..<steps {
            takeStep()
            if let fault = inspect() ?? takeAnswers() { return "step \(step): \(fault)" }
        }
        return settle()
    }

    private mutating func takeStep() {
        // The ranges are percentages.
        switch dice.below(100) {
        case 0..<12:
            let name = names[dice.below(2)]
            awaitedProducers.append((driver.send(Producer.initialize(transactionalID: name)), name))
        case 12..<55: sendNextRequest()
        case 55..<75: driver.storeNext()
        case 75..<80: driver.failNext()
        case 80..<88: driver.writeNextMarkers()
        case 88..<90: driver.failMarkers()
        case 90..<96: driver.pass(milliseconds: Int64(dice.below(6_000)))
        default: restart()
        }
    }

    private mutating func restart() {
        // The markers may be in the partitions, although their answer did not arrive.
        if dice.chance(percent: 50) { driver.writeMarkersWithoutAnswer() }
        driver.restart(keepingUnstoredAppends: dice.below(3))
        awaitedProducers = []
        for index in clients.indices {
            clients[index].awaitedAdd = nil
            clients[index].awaitedEnd = nil
        }
    }

    /// Lets a producer add a partition or end its transaction.
    private mutating func sendNextRequest() {
        guard !clients.isEmpty else { return }
        let index = dice.below(clients.count)
        guard clients[index].awaitedAdd == nil, clients[index].awaitedEnd == nil else { return }
        let client = clients[index]
        if client.decidedToCommit != nil || (client.hasOpenTransaction && dice.chance(percent: 40)) {
            let commits = client.decidedToCommit ?? dice.chance(percent: 60)
            clients[index].decidedToCommit = commits
            clients[index].awaitedEnd = (driver.send(clients[index].producer.end(commits: commits)), commits)
        } else {
            let partition = PartitionID(topic: "t", partition: Int32(dice.below(3)))
            let request = clients[index].producer.add(topic: partition.topic, partition: partition.partition)
            clients[index].awaitedAdd = (driver.send(request), partition)
        }
    }

    /// Takes the answers that have arrived, and returns the first fault.
    private mutating func takeAnswers() -> String? {
        if let fault = takeInitializedProducers() { return fault }
        for index in clients.indices {
            if let fault = takeAnswerToAdd(at: index) ?? takeAnswerToEnd(at: index) { return fault }
        }
        return nil
    }

    private mutating func takeInitializedProducers() -> String? {
        for waiting in awaitedProducers {
            guard let answer = driver.take(waiting.token) else { continue }
            awaitedProducers.removeAll { $0.token == waiting.token }
            guard var producer = answer.producer else { continue }
            producer.transactionalID = waiting.name
            guard owners.insert(Owner(id: producer.id, epoch: producer.epoch)).inserted else {
                return "\(producer) was returned twice"
            }
            newest[waiting.name] = producer
            clients.append(Client(producer: producer))
        }
        return nil
    }

    private mutating func takeAnswerToAdd(at index: Int) -> String? {
        guard let adding = clients[index].awaitedAdd, let answer = driver.take(adding.token) else {
            return nil
        }
        clients[index].awaitedAdd = nil
        guard answer.error == ErrorCode.none else { return nil }
        clients[index].added.insert(adding.partition)
        clients[index].hasOpenTransaction = true
        return faultOfSuccess(of: clients[index].producer)
    }

    private mutating func takeAnswerToEnd(at index: Int) -> String? {
        guard let ending = clients[index].awaitedEnd, let answer = driver.take(ending.token) else {
            return nil
        }
        clients[index].awaitedEnd = nil
        guard answer.error == ErrorCode.none else { return nil }
        let client = clients[index]
        clients[index] = Client(producer: client.producer)
        guard let decision = decisions[client.producer.transactionalID] else {
            return "an end without a decision"
        }
        guard (decision.state == .prepareCommit) == ending.commits else {
            return "the other decision is in the log"
        }
        guard decision.producerID == client.producer.id, decision.epoch == client.producer.epoch else {
            return "\(client.producer) got the end of another producer"
        }
        return decision.partitions.isSuperset(of: client.added)
            ? nil : "a partition is missing from the decision"
    }

    /// Returns a fault if a newer producer had fenced this one before its success.
    private func faultOfSuccess(of producer: Producer) -> String? {
        guard let newest = newest[producer.transactionalID], newest != producer else { return nil }
        return "\(producer) got a success after \(newest)"
    }

    /// Checks the events that became durable since the last step.
    private mutating func inspect() -> String? {
        while inspectedCount < driver.history.count {
            let event = driver.history[inspectedCount]
            inspectedCount += 1
            switch event {
            case .markers(let markers):
                if let fault = inspect(markers) { return fault }
            case .record(let record):
                guard let (name, facts) = Simulations.transaction(in: record) else { continue }
                if let fault = inspect(facts, of: name, after: states[name]) { return fault }
                states[name] = facts
            }
        }
        return nil
    }

    private mutating func inspect(_ markers: TransactionMarkers) -> String? {
        guard let (name, facts) = states.first(where: { $0.value.producerID == markers.producerID }),
            facts.state.isPrepared
        else { return "markers without a decision: \(markers)" }
        guard facts.epoch == markers.epoch, (facts.state == .prepareCommit) == markers.commits,
            facts.partitions.isSuperset(of: markers.partitions)
        else { return "\(markers) do not carry out \(facts)" }
        marked[name, default: []].formUnion(markers.partitions)
        return nil
    }

    private mutating func inspect(
        _ facts: TransactionFacts, of name: String, after previous: TransactionFacts?
    ) -> String? {
        if let previous, previous.state.isPrepared {
            // The record of the completion may be missing. Then the next state follows the decision.
            let completed =
                previous.state == .prepareCommit ? TransactionState.completeCommit : .completeAbort
            let isAllowed = facts.state == completed || facts.state == .ongoing || facts.state == .empty
            guard isAllowed else { return "\(previous.state) was followed by \(facts.state)" }
            guard marked[name] == previous.partitions else { return "\(name) continued without its markers" }
        }
        if let previous, previous.producerID == facts.producerID, facts.epoch < previous.epoch {
            return "the epoch of \(name) went back"
        }
        if facts.state.isPrepared {
            guard previous?.state == .ongoing else { return "\(name) was decided without being open" }
            decisions[name] = facts
            marked[name] = []
        }
        return nil
    }

    /// Ends the history: every decision is carried out, and no transaction stays open.
    private mutating func settle() -> String? {
        driver.storesAtOnce = true
        driver.marksAtOnce = true
        // Each round is longer than the timeout of a transaction (10 s) and the wait before a retry (0.1 s).
        for _ in 0..<6 {
            driver.storeNext()
            driver.writeNextMarkers()
            driver.pass(milliseconds: 11_000)
            if let fault = inspect() ?? takeAnswers() { return "at the end: \(fault)" }
        }
        driver.restart()
        driver.pass(milliseconds: 11_000)
        if let fault = inspect() { return "after the end: \(fault)" }
        for (name, facts) in states where facts.state == .ongoing || facts.state.isPrepared {
            return "\(name) is \(facts.state) in the end"
        }
        return nil
    }
}
