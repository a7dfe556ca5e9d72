internal import Lifecycle
internal import Telemetry

/// One client's connection. It cuts bytes into requests, dispatches them and sends the answers in order.
///
/// It executes one request at a time, as Kafka does, so that a client's requests act in their order. Only
/// appends overlap, because the log orders them and they wait for the disk together. Bytes that it cannot
/// take stay in the kernel's buffer. A malformed request closes this connection only.
final class Session: TCPConnectionDelegate, TurnHook {
    private let connection: TCPConnection
    private unowned let node: BrokerNode
    private let limits: SessionLimits
    private var kept = FrameBuffer()
    private var owed = ResponseQueue()
    private var faults: SessionFaults?

    private var isHooked = false
    /// Whether the peer does not read. Then no further request is begun.
    private var isFull = false
    private var isPaused = false
    private var lacksMemory = false
    /// The part of the node's count that belongs to this connection.
    private var countedUnsent = 0
    private(set) var isClosed = false
    private var lastActivity: Instant
    private(set) lazy var peerHost = connection.peer?.host ?? "unknown"

    init(_ connection: TCPConnection, node: BrokerNode) {
        self.connection = connection
        self.node = node
        self.limits = node.settings.limits
        self.lastActivity = connection.loop.now
        self.faults = node.settings.responseFaults.map { SessionFaults(decide: $0) }
    }

    // MARK: The connection's calls

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard !isClosed else { return }
        lastActivity = connection.loop.now
        node.metrics.receivedBytes.add(bytes.count)
        let handled = kept.count == 0 ? unsafe handleRequests(in: bytes) : 0
        guard !isClosed, handled < bytes.count else { return }
        let before = kept.capacity
        unsafe kept.append(UnsafeRawBufferPointer(rebasing: bytes[handled...]))
        let grown = kept.capacity - before
        if grown > 0 {
            lacksMemory = !node.budget.use(grown, holding: heldBytes, by: self)
        }
        handleKept()
        setReading()
    }

    func writable() {
        isFull = false
        lastActivity = connection.loop.now
        countUnsent(connection.bytesWaiting)
        hook()
    }

    func closed(_ reason: TCPCloseReason) {
        isClosed = true
        countUnsent(0)
        node.budget.forget(self)
        node.budget.release(heldBytes)
        for exchange in owed.removeAll() { exchange.abandon() }
        node.forget(self)
    }

    func endOfTurn() {
        isHooked = false
        guard !isClosed else { return }
        handleKept()
        setReading()
    }

    /// Continues at the end of the turn, after the condition that this connection waited for has changed.
    func resume() {
        lacksMemory = false
        hook()
    }

    private func hook() {
        guard !isHooked, !isClosed else { return }
        isHooked = true
        connection.loop.atEndOfTurn(self)
    }

    // MARK: Requests

    private var heldBytes: Int { kept.capacity - FrameBuffer.restingBytes }

    private func handleKept() {
        guard kept.count > 0 else { return }
        let handled = unsafe handleRequests(in: kept.bytes)
        guard !isClosed else { return }
        kept.consume(handled)
        if node.budget.isShort { releaseMemory() }
    }

    /// Handles whole requests from the front until one must wait. Returns the number of handled bytes.
    private func handleRequests(in bytes: UnsafeRawBufferPointer) -> Int {
        var handled = 0
        while !isClosed {
            switch unsafe FrameBuffer.next(in: bytes, from: handled, bytesMax: limits.requestBytesMax) {
            case .frame(let range):
                let request = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
                guard unsafe mayHandle(request) else { return handled }
                unsafe node.dispatch(request, from: self)
                handled = range.upperBound
            case .incomplete:
                return handled
            case .badLength(let length):
                refuse(WireError.badRequestLength(length))
            }
        }
        return handled
    }

    private func mayHandle(_ request: UnsafeRawBufferPointer) -> Bool {
        guard !isFull, !node.isDraining else { return false }
        guard !owed.isEmpty else { return true }
        guard owed.count < limits.producesInFlightMax, request.count >= 2 else { return false }
        let key = Int16(bigEndian: unsafe request.loadUnaligned(as: Int16.self))
        return key == APIKey.produce.rawValue && owed.isOnlyProduces
    }

    /// Reads while requests wait, up to a resting buffer. Otherwise the session would not notice that the
    /// client of a parked Fetch is gone.
    private func setReading() {
        guard !isClosed else { return }
        let waits = !owed.isEmpty || isFull
        let pause = lacksMemory || (waits && kept.count >= FrameBuffer.restingBytes)
        guard pause != isPaused else { return }
        isPaused = pause
        if pause { connection.pauseReading() } else { connection.resumeReading() }
    }

    private func releaseMemory() {
        guard kept.count == 0, heldBytes > 0 else { return }
        let held = heldBytes
        kept.rest()
        node.budget.release(held)
    }

    var owesAppends: Bool { !owed.isEmpty && owed.isOnlyProduces }

    func refuse(_ error: WireError) {
        node.log.debug("closing a connection that sent a malformed request", .field("reason", error))
        node.metrics.malformedRequests.add()
        close()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        connection.close()
    }

    // MARK: Answers

    func begin(_ header: RequestHeader) -> Exchange {
        let exchange = Exchange(header, session: self, arrival: connection.loop.now)
        owed.append(exchange)
        return exchange
    }

    /// Encodes an answer in the node's scratch writer and sends it from there. The connection gathers
    /// small answers; large ones go to the kernel without another copy.
    func answer(_ exchange: Exchange, _ body: (inout WireWriter) -> Void) {
        guard !isClosed else { return }
        // The memory stays, because the next answer may be as large. Upkeep releases it.
        node.scratch.reset(keeping: .max)
        exchange.header.writeResponse(to: &node.scratch, body)
        if owed.first === exchange {
            owed.removeFirst()
            unsafe node.scratch.withBytes { unsafe send($0, of: exchange) }
            while let next = owed.first, let waiting = next.waiting {
                owed.removeFirst()
                unsafe waiting.withUnsafeBytes { unsafe send($0, of: next) }
            }
        } else {
            exchange.keep(node.scratch.copied())
        }
        if kept.count > 0 || isPaused { hook() }
    }

    func withdraw(_ exchange: Exchange) {
        guard !isClosed else { return }
        owed.remove(exchange)
    }

    private func send(_ answer: UnsafeRawBufferPointer, of exchange: Exchange) {
        node.metrics.sentBytes.add(answer.count)
        node.metrics.observe(exchange, now: connection.loop.now)
        guard faults == nil else { return unsafe sendFaulty(answer, of: exchange) }
        if unsafe !connection.send(answer) { isFull = true }
        countUnsent(connection.bytesWaiting)
    }

    private func countUnsent(_ bytes: Int) {
        node.unsentBytes += bytes - countedUnsent
        countedUnsent = bytes
    }

    private func sendFaulty(_ answer: UnsafeRawBufferPointer, of exchange: Exchange) {
        let connection = self.connection
        let outcome = unsafe faults?.apply(exchange.header, [UInt8](answer)) { [weak self] in
            self?.isClosed == false ? connection : nil
        }
        if outcome == .closeConnection { close() }
    }

    // MARK: Time

    /// Closes a stalled connection and releases the memory of a quiet one. Called by upkeep.
    func sweep(now: Instant) {
        // The session gets no event when the kernel takes bytes, unless the connection was full.
        if !isClosed { countUnsent(connection.bytesWaiting) }
        let isStuck = kept.count > 0 && owed.isEmpty || isFull
        let limit = isStuck ? limits.stallSecondsMax : limits.idleSecondsMax
        let isQuiet = now.seconds(since: lastActivity)
        if isStuck || owed.isEmpty, isQuiet > Double(limit) { return close() }
        if isQuiet > limits.restSeconds { releaseMemory() }
    }
}
