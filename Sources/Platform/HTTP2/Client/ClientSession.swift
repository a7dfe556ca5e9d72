package import Lifecycle

/// The client side of one HTTP/2 connection, without a socket: bytes in, bytes out. Requests are submitted
/// one by one, and their outcomes come in batches. Each request ends exactly once. Its outcome tells whether
/// the peer may have processed it.
///
/// It implements the protocol (RFC 9113) itself: a push then needs a third of the processor time of a push
/// through nghttp2, which is a general library. It does not support priorities, server push, or padding of
/// its own frames.
///
/// It is confined to one thread. It has no socket, no clock and no TLS, and never traps on a peer's bytes.
/// The owner repeats: call `receive` with the bytes read, handle `takeEvents` and `outcomes`, call `submit`
/// while there are `availableRequests`, call `pull` until a buffer is not full, and send the buffers. If
/// `isFinished`, it closes the connection. When the connection is gone, it calls `end`.
@safe package final class ClientSession {
    let limits: ClientLimits
    let keptFields: KeptFields
    let slots: SlotTable<RequestSlot>
    let encoder = HeaderEncoder()
    let decoder = HeaderDecoder()

    // Output. Exclusivity is unchecked, here and below, because each frame accesses these fields, and no
    // access calls code that accesses the same field.
    @safe @exclusivity(unchecked) var sharedRequests = SharedRequests()
    @safe @exclusivity(unchecked) var writer = FrameWriter()
    @safe @exclusivity(unchecked) var controlFrames = ControlFrames()
    @safe @exclusivity(unchecked) var waitingForHeaders = WaitList(waitReason: .headers)
    @safe @exclusivity(unchecked) var waitingForWindow = WaitList(waitReason: .window)
    @safe @exclusivity(unchecked) var waitingForReset = WaitList(waitReason: .reset)
    @safe @exclusivity(unchecked) var streamTable: StreamTable
    /// The number of streams that the peer knows and neither side has closed.
    @safe @exclusivity(unchecked) var openStreamCount = 0
    /// The stream number of the next request, always odd.
    @safe @exclusivity(unchecked) var nextStream: Int32 = 1
    /// The body bytes that the peer accepts now on all streams together.
    @safe @exclusivity(unchecked) var sendWindow = FlowWindow.initialBytes
    /// The body bytes that were submitted and not pulled. They wait for `pull` or for the peer's windows.
    @safe @exclusivity(unchecked) package internal(set) var unsentBytes = 0
    /// The time of the current `pull`, in nanoseconds on the steady clock.
    @safe @exclusivity(unchecked) var pulledAtNanoseconds = Int64.min

    // Input.
    /// The bytes of an incomplete frame.
    @safe @exclusivity(unchecked) var incompleteFrame = GrowingBuffer()
    /// A header block that continues in CONTINUATION frames.
    var incompleteBlock: HeaderBlock?
    /// Body bytes received on all streams since the last WINDOW_UPDATE of the connection.
    @safe @exclusivity(unchecked) var receivedBytesSinceUpdate = 0

    // Results for the owner.
    /// Stored behind a pointer, because each request appends to it.
    let collectedOutcomes: UnsafeMutablePointer<OutcomeBatch>
    package internal(set) var events = SessionEvents()

    // The limits that the peer sets.
    /// The peer's settings, or the protocol's defaults.
    var peerSettings = PeerSettings(
        concurrentStreamsMax: .max, streamWindowBytes: UInt32(FlowWindow.initialBytes),
        frameBytesMax: UInt32(FrameWriter.payloadBytesMax))
    /// Whether the peer's first SETTINGS have arrived.
    var hasSettings = false
    /// The peer's limit of open streams. Before its SETTINGS, `ClientLimits.streamsBeforeSettings`.
    var peerStreamsMax: Int
    /// The last stream of the peer's GOAWAY.
    var goawayLastStream: Int32?

    // The state of the connection.
    /// The requests that this connection may still take.
    var remainingRequests: Int
    /// The payload of a PING that the peer has not acknowledged.
    var unacknowledgedPing: UInt64?
    /// Whether this side has sent GOAWAY.
    var isFinishing = false
    /// Whether the peer violated the protocol. GOAWAY is sent and nothing more is read.
    var hasViolation = false
    /// Whether the connection is gone or the session failed.
    var isClosed = false

    /// Creates a session.
    ///
    /// - Parameter keeping: The names of the header fields that outcomes contain. Others are dropped.
    package init(limits: ClientLimits = ClientLimits(), keeping: [StaticString] = []) {
        precondition(limits.keptValueBytesMax < 65_536, "a kept value must be shorter than 64 KiB")
        self.limits = limits
        keptFields = KeptFields(names: keeping)
        peerStreamsMax = limits.streamsBeforeSettings
        remainingRequests = min(limits.requestsMax, ClientLimits.requestsLimit)
        unsafe collectedOutcomes = .allocate(capacity: 1)
        unsafe collectedOutcomes.initialize(to: OutcomeBatch())
        slots = SlotTable(capacity: limits.streamsMax) { RequestSlot(index: $0) }
        streamTable = StreamTable(capacity: limits.streamsMax)
        controlFrames.appendPreface()
    }

    deinit {
        for index in 0..<slots.capacity { unsafe slots[index].pointee.buffer.free() }
        writer.free()
        controlFrames.free()
        streamTable.free()
        incompleteFrame.free()
        incompleteBlock?.buffer.free()
        unsafe collectedOutcomes.deinitialize(count: 1)
        unsafe collectedOutcomes.deallocate()
    }

    /// The number of requests that `submit` takes now. It is 0 also if the peer allows no streams, has sent
    /// GOAWAY, or is gone.
    package var availableRequests: Int {
        guard acceptsRequests else { return 0 }
        let freeStreams = max(0, min(peerStreamsMax, slots.capacity) - slots.usedCount)
        return min(freeStreams, remainingRequests)
    }

    /// The number of requests that have a slot, including overdue ones that may still be answered.
    package var openRequestCount: Int { slots.usedCount }

    /// Whether the session can take requests, now or later. If false, the owner waits for the open requests
    /// and uses another connection.
    package var acceptsRequests: Bool {
        !isClosed && !hasViolation && goawayLastStream == nil && remainingRequests > 0
    }

    /// Takes one request. Returns nil if there are no `availableRequests`. `path` and `varying` are copied.
    /// The template and the body are retained until the stream closes.
    ///
    /// - Parameters:
    ///   - varying: The value of the template's varying field. Empty omits the field.
    ///   - tag: A number for the caller, which the outcome contains.
    ///   - sendDeadline: The time after which the request is not sent any more and ends as `overdue`.
    ///   - deadline: The time at which the request ends as `overdue` if it has no answer.
    @discardableResult
    package func submit(
        template: RequestTemplate, path: Span<UInt8>, varying: Span<UInt8> = Span(), body: SharedBody?,
        tag: UInt64, sendDeadline: Instant = .distantFuture, deadline: Instant = .distantFuture
    ) -> RequestID? {
        precondition(path.count + varying.count <= RequestTemplate.variableBytesMax, "the path is too long")
        precondition(varying.isEmpty || template.varyingPrefix != nil, "the template names no varying field")
        guard availableRequests > 0, let slot = unsafe slots.acquire() else { return nil }
        unsafe slot.pointee.begin(
            tag: tag, sendDeadline: sendDeadline.nanoseconds, deadline: deadline.nanoseconds,
            shared: sharedRequests.retain(template: template, body: body), body: body)
        unsafe slot.pointee.storePath(path, varying: varying)
        unsentBytes += unsafe slot.pointee.requestBody.count
        unsafe waitingForHeaders.append(slot)
        remainingRequests -= 1
        return unsafe RequestID(index: Int32(slot.pointee.index), generation: slot.pointee.generation)
    }

    /// Whether `pull` has frames to write.
    package var wantsToSend: Bool {
        guard !isClosed else { return false }
        if isOutputWaiting { return true }
        return !hasViolation && (!waitingForReset.isEmpty || canSendRequest || canSendBody)
    }

    /// Whether nothing more will be read or written. The owner closes the connection, and then calls `end`.
    package var isFinished: Bool {
        if isClosed { return true }
        guard !isOutputWaiting else { return false }
        let hasGoaway = isFinishing || goawayLastStream != nil
        return hasViolation || hasGoaway && slots.usedCount == 0
    }

    /// Whether the rest of a frame or a control frame waits to be pulled.
    private var isOutputWaiting: Bool { !writer.isEmpty || !controlFrames.isEmpty }

    /// Sends a PING. The peer's acknowledgement comes as `SessionEvents.pong`. Returns false if an earlier
    /// PING is not acknowledged yet.
    package func sendPing(payload: UInt64) -> Bool {
        guard !isClosed, unacknowledgedPing == nil else { return false }
        unacknowledgedPing = payload
        controlFrames.appendPing(payload: payload)
        return true
    }

    /// Whether requests have ended. `pull` can also end a request, when it writes its reset.
    package var hasOutcomes: Bool { unsafe !collectedOutcomes.pointee.outcomes.isEmpty }

    /// The outcomes since `clearOutcomes`.
    package var outcomes: OutcomeBatch { unsafe collectedOutcomes.pointee }

    /// Removes the outcomes that were handled.
    package func clearOutcomes() { unsafe collectedOutcomes.pointee.removeAll() }

    /// Returns and removes the events since the last call.
    package func takeEvents() -> SessionEvents {
        defer { events = SessionEvents() }
        return events
    }
}
