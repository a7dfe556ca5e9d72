import Testing

@testable import Broker

/// The errors that the transaction coordinator answers to each request, as Kafka does, and its retries after failures.
/// `TransactionDriver` holds the log and the partitions, and lets them fail.
struct TransactionErrorTests {
    @Test func `a request for a producer id that breaks a rule or exceeds a limit is refused`() {
        var settings = TransactionSettings()
        settings.transactionalIDsMax = 1
        let driver = TransactionDriver(settings)
        _ = driver.producer()
        let cases: [(TransactionRequest, ErrorCode)] = [
            (Producer.initialize(transactionalID: ""), .invalidRequest),
            (Producer.initialize(transactionalID: "x", timeoutMilliseconds: 0), .invalidTransactionTimeout),
            (Producer.initialize(transactionalID: "x", timeoutMilliseconds: -1), .invalidTransactionTimeout),
            (
                Producer.initialize(transactionalID: "x", timeoutMilliseconds: 900_001),
                .invalidTransactionTimeout
            ),
            // A producer id and an epoch come together.
            (Producer.initialize(transactionalID: "x", id: 3), .invalidRequest),
            (Producer.initialize(transactionalID: "x", epoch: 3), .invalidRequest),
            // The one transactional id that `transactionalIDsMax` admits is "x".
            (Producer.initialize(transactionalID: "y"), .policyViolation),
        ]
        for (request, expected) in cases { #expect(driver.ask(request)?.error == expected, "\(request)") }
    }

    @Test func `requests from producers that do not own the transactional id are refused`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        var stranger = producer
        stranger.id += 1
        var fenced = producer
        fenced.epoch -= 1
        var unknown = producer
        unknown.transactionalID = "nobody's"
        var nameless = producer
        nameless.transactionalID = ""
        let refusals: [(Producer, ErrorCode)] = [
            (stranger, .invalidProducerIDMapping), (fenced, .producerFenced),
            (unknown, .invalidProducerIDMapping), (nameless, .invalidRequest),
        ]
        for (owner, expected) in refusals {
            #expect(driver.ask(owner.add())?.error == expected)
            #expect(driver.ask(owner.addOffsets())?.error == expected)
            #expect(driver.ask(owner.end(commits: true))?.error == expected)
        }
        #expect(driver.ask(fenced.add(version: 1))?.error == .invalidProducerEpoch)
        #expect(driver.ask(fenced.addOffsets(version: 1))?.error == .invalidProducerEpoch)
        #expect(driver.ask(fenced.end(commits: true, version: 1))?.error == .invalidProducerEpoch)
        #expect(driver.ask(producer.addOffsets(""))?.error == .invalidGroupID)
    }

    @Test func `no partition is added if one of them is unknown`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        let request = AddPartitionsToTxnRequest(
            version: 2, transactionalID: "x", producerID: producer.id, producerEpoch: producer.epoch,
            topics: [.init(topic: "t", partitions: [0]), .init(topic: "missing", partitions: [0])])
        guard case .addPartitions(let body)? = driver.ask(.addPartitions(request)) else {
            Issue.record("the answer is of another kind")
            return
        }
        #expect(
            body.topics.map { $0.partitions.map(\.error) } == [
                [.operationNotAttempted], [.unknownTopicOrPartition],
            ])
        #expect(driver.ask(producer.end(commits: true))?.error == .invalidTxnState)
    }

    /// The state of a transaction, in the order of its course.
    enum Progress {
        /// No partition was added.
        case empty
        /// A partition was added, the producer has committed, and the decision is not durable.
        case deciding
        /// The decision is durable, and its markers are not.
        case prepared
        /// The markers are durable.
        case complete
    }

    @Test(arguments: [
        (Progress.empty, ErrorCode.invalidTxnState, ErrorCode.invalidTxnState),
        (.deciding, .concurrentTransactions, .concurrentTransactions),
        (.prepared, .concurrentTransactions, .invalidTxnState),
        (.complete, .none, .invalidTxnState),
    ])
    func `the answer to a repeated decision depends on the state of the transaction`(
        progress: Progress, errorOfCommit: ErrorCode, errorOfAbort: ErrorCode
    ) throws {
        let (driver, producer) = try makeDriver(in: progress)
        #expect(driver.ask(producer.end(commits: true))?.error == errorOfCommit)
        #expect(driver.ask(producer.end(commits: false))?.error == errorOfAbort)
    }

    @Test(arguments: [Progress.deciding, .prepared])
    func `while a transaction ends, other requests must be repeated`(progress: Progress) throws {
        let (driver, producer) = try makeDriver(in: progress)
        let requests = [
            producer.add(), producer.addOffsets(), Producer.initialize(transactionalID: "x"),
            producer.nextEpoch(),
        ]
        for request in requests {
            #expect(driver.ask(request)?.error == .concurrentTransactions, "\(request)")
        }
    }

    /// Makes a producer and brings its transaction, which commits, to this state.
    private func makeDriver(in progress: Progress) throws -> (TransactionDriver, Producer) {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        guard progress != .empty else { return (driver, producer) }
        _ = driver.ask(producer.add())
        driver.marksAtOnce = progress == .complete
        driver.storesAtOnce = progress != .deciding
        _ = driver.send(producer.end(commits: true))
        return (driver, producer)
    }

    @Test func `a change that the log refuses has no effect`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        driver.storesAtOnce = false
        let add = driver.send(producer.add())
        driver.failNext()
        #expect(driver.take(add)?.error == .coordinatorNotAvailable)
        let end = driver.send(producer.end(commits: true))
        #expect(driver.take(end)?.error == .invalidTxnState)
        let initialization = driver.send(Producer.initialize(transactionalID: "y"))
        driver.failNext()
        #expect(driver.take(initialization)?.error == .coordinatorNotAvailable)
        #expect(driver.coordinator.transactions["y"] == nil)
    }

    @Test func `if the append that aborts a timed-out transaction fails, it is repeated`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        _ = driver.ask(producer.add())
        driver.storesAtOnce = false
        // The timeout is 10 s.
        driver.pass(milliseconds: 10_050)
        driver.failNext()
        #expect(driver.writtenMarkers.isEmpty)
        driver.pass(milliseconds: 300)
        driver.storeNext()
        #expect(driver.writtenMarkers.map(\.commits) == [false])
    }

    @Test func `markers that could not be written are written again`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        _ = driver.ask(producer.add())
        driver.marksAtOnce = false
        let end = driver.send(producer.end(commits: true))
        driver.failMarkers()
        // The producer asked for a decision, and that is durable.
        #expect(driver.take(end)?.error == ErrorCode.none)
        #expect(driver.ask(producer.add())?.error == .concurrentTransactions)
        driver.pass(milliseconds: 300)
        driver.writeNextMarkers()
        #expect(driver.writtenMarkers.map(\.commits) == [true])
        #expect(driver.ask(producer.add())?.error == ErrorCode.none)
    }

    @Test func `only the partition that failed is marked again`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        for partition in 0..<4 as Range<Int32> {
            _ = driver.ask(producer.add(topic: "t", partition: partition))
        }
        _ = driver.ask(producer.addOffsets())
        driver.marksAtOnce = false
        _ = driver.send(producer.end(commits: true))
        driver.failMarkers(failsGroups: false)
        driver.pass(milliseconds: 150)
        #expect(
            driver.unwrittenMarkers.map(\.markers.partitions) == [[PartitionID(topic: "t", partition: 3)]])
        #expect(driver.unwrittenMarkers.map(\.markers.groups) == [[]])
        driver.writeNextMarkers()
        #expect(driver.writtenMarkers.flatMap(\.partitions).map(\.partition).sorted() == [0, 1, 2, 3])
        #expect(driver.writtenMarkers.flatMap(\.groups) == ["g"])
        #expect(driver.coordinator.unmarkedCount == 0)
        // The next transaction marks all its partitions.
        _ = driver.ask(producer.add(topic: "t", partition: 1))
        _ = driver.send(producer.end(commits: false))
        driver.writeNextMarkers()
        #expect(driver.writtenMarkers.last?.partitions.map(\.partition) == [1])
    }

    @Test func `markers that fail repeatedly are tried again ten times a second`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        _ = driver.ask(producer.add())
        driver.marksAtOnce = false
        _ = driver.send(producer.end(commits: true))
        var attempts = 0
        for _ in 0..<600 {
            driver.pass(milliseconds: 10)
            guard !driver.unwrittenMarkers.isEmpty else { continue }
            attempts += 1
            driver.failMarkers()
        }
        #expect((58...61).contains(attempts), "in six seconds")
        #expect(driver.coordinator.unmarkedCount == 1)
        driver.pass(milliseconds: 200)
        driver.writeNextMarkers()
        #expect(driver.ask(producer.add())?.error == ErrorCode.none)
    }
}
