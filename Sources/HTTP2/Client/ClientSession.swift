package import Lifecycle

/// The client side of one HTTP/2 connection: bytes in, bytes out. Requests go in one by one and come
/// out in batches of outcomes; each ends exactly once, and what is known about it is told apart.
///
/// It keeps the protocol itself (RFC 9113), as a push takes a third of the processor time that it takes with a
/// session of nghttp2, which is made for whatever a client may want. What it does not do: priorities, pushes of
/// the server, and padding of what it sends.
///
/// Pinned to one thread. It has no socket, no clock and no TLS, and never traps on a peer's bytes.
/// A turn of its owner: `receive` what was read, look at `events` and `outcomes`, `submit` while there
/// is `room`, `pull` until a buffer is not filled, send. When `isOver`, close the connection; when the
/// connection is gone, `end`.
@safe package final class ClientSession {
    let limits: ClientLimits
    let kept: KeptFields
    let slots: SlotTable<RequestSlot>
    let encoder = HeaderEncoder()
    let decoder = HeaderDecoder()

    // What goes out. Unchecked, here and below: these are touched for each frame, and nothing that they call
    // comes back to them.
    @safe @exclusivity(unchecked) var shared = SharedRequests()
    @safe @exclusivity(unchecked) var writer = FrameWriter()
    @safe @exclusivity(unchecked) var control = ControlFrames()
    @safe @exclusivity(unchecked) var waiting = SlotList(.stream)
    @safe @exclusivity(unchecked) var sending = SlotList(.window)
    @safe @exclusivity(unchecked) var resetting = SlotList(.reset)
    @safe @exclusivity(unchecked) var streams: StreamTable
    /// Streams that the peer knows and neither side has closed.
    @safe @exclusivity(unchecked) var openStreams = 0
    /// What the next request will have.
    @safe @exclusivity(unchecked) var nextStream: Int32 = 1
    /// Bytes of bodies that the peer takes on all streams together.
    @safe @exclusivity(unchecked) var sendWindow = FlowWindow.bytesAtFirst
    /// Bytes of bodies that were submitted and not given out: they wait for `pull`, or for the peer's
    /// windows.
    @safe @exclusivity(unchecked) package internal(set) var unsentBytes = 0
    /// Nanoseconds on the steady clock: the present `pull`.
    @safe @exclusivity(unchecked) var pulledAt = Int64.min

    // What comes in.
    /// A frame that has not come to its end.
    @safe @exclusivity(unchecked) var partial = ByteStore()
    /// A header block that goes on in CONTINUATION frames.
    var openBlock: HeaderBlock?
    /// Bytes of bodies since the peer was last given room on all streams together.
    @safe @exclusivity(unchecked) var windowUsed = 0

    /// Behind a pointer: it is appended to for each request.
    let ended: UnsafeMutablePointer<OutcomeBatch>
    package internal(set) var events = SessionEvents()
    var peer = PeerSettings(
        concurrentStreamsMax: .max, streamWindowBytes: UInt32(FlowWindow.bytesAtFirst),
        frameBytesMax: UInt32(FrameWriter.payloadBytesMax))
    var hasSettings = false
    var peerStreamsMax: Int
    var requestsLeft: Int
    var goawayLast: Int32?
    var openPing: UInt64?
    /// This side said GOAWAY.
    var isFinishing = false
    /// The peer broke the protocol: a GOAWAY goes out, and nothing is read any more.
    var isBroken = false
    /// The connection is gone, or the session failed.
    var isClosed = false

    /// Stream numbers end a little above this.
    private static let requestsMax = 1_000_000_000

    /// `keeping` names the fields of answers that outcomes shall carry; the others are dropped.
    package init(limits: ClientLimits = ClientLimits(), keeping: [StaticString] = []) {
        precondition(limits.keptValueBytesMax < 65_536, "a kept value has less than 64 KiB")
        self.limits = limits
        kept = KeptFields(keeping)
        peerStreamsMax = limits.streamsBeforeSettings
        requestsLeft = min(limits.requestsMax, ClientSession.requestsMax)
        unsafe ended = .allocate(capacity: 1)
        unsafe ended.initialize(to: OutcomeBatch())
        slots = SlotTable(capacity: limits.streamsMax) { RequestSlot(index: $0) }
        streams = StreamTable(capacity: limits.streamsMax)
        control.begin()
    }

    deinit {
        for index in 0..<slots.capacity { unsafe slots[index].pointee.bytes.free() }
        writer.free()
        control.free()
        streams.free()
        partial.free()
        openBlock?.bytes.free()
        unsafe ended.deinitialize(count: 1)
        unsafe ended.deallocate()
    }

    /// How many requests `submit` takes now: 0 also when the peer parks us, says GOAWAY, or is gone.
    package var room: Int {
        guard takesRequests else { return 0 }
        return min(max(0, min(peerStreamsMax, slots.capacity) - slots.used), requestsLeft)
    }

    /// Requests that have a slot, the overdue ones that may still be answered included.
    package var openRequests: Int { slots.used }

    /// False once no request will ever be taken again: finish what is open, use another connection.
    package var takesRequests: Bool { !isClosed && !isBroken && goawayLast == nil && requestsLeft > 0 }

    /// Takes one request, or gives nil when there is no room. `path` and `varying` are copied; the
    /// template and the body are kept, not copied, until the stream closes.
    ///
    /// - Parameters:
    ///   - leaveBy: what has not left by then never does, and ends as `overdue`.
    ///   - deadline: when it ends without an answer.
    @discardableResult
    package func submit(
        _ template: RequestTemplate, path: Span<UInt8>, varying: Span<UInt8> = Span(), body: SharedBody?,
        tag: UInt64, leaveBy: Instant = .distantFuture, deadline: Instant = .distantFuture
    ) -> RequestID? {
        precondition(path.count + varying.count <= RequestTemplate.variableBytesMax, "the path is too long")
        precondition(varying.isEmpty || template.varyingPrefix != nil, "the template names no varying field")
        guard room > 0, let slot = unsafe slots.take() else { return nil }
        unsafe slot.pointee.begin(
            tag: tag, leaveBy: leaveBy.nanoseconds, deadline: deadline.nanoseconds,
            shared.join(template, body), body: body)
        unsafe slot.pointee.keep(path: path, varying: varying)
        unsentBytes += unsafe slot.pointee.bodyBytes.count
        unsafe waiting.append(slot)
        requestsLeft -= 1
        return unsafe RequestID(index: Int32(slot.pointee.index), generation: slot.pointee.generation)
    }

    /// There is something for `pull`.
    package var wantsToSend: Bool {
        guard !isClosed else { return false }
        return isOutputWaiting || !isBroken && (!resetting.isEmpty || canSendRequest || canSendBody)
    }

    /// Nothing more will be read or written: close the connection, then `end`.
    package var isOver: Bool {
        if isClosed { return true }
        guard !isOutputWaiting else { return false }
        return isBroken || (isFinishing || goawayLast != nil) && slots.used == 0
    }

    /// Frames that have begun, and those that the protocol asks for.
    private var isOutputWaiting: Bool { !writer.isEmpty || !control.isEmpty }

    /// Asks for an acknowledgement, which comes as `events.pong`. False while one is awaited.
    package func ping(_ bytes: UInt64) -> Bool {
        guard !isClosed, openPing == nil else { return false }
        openPing = bytes
        control.ping(bytes)
        return true
    }

    /// Something has ended; also `pull` can end a request, when it gives out that its stream is reset.
    package var hasOutcomes: Bool { unsafe !ended.pointee.outcomes.isEmpty }

    /// What ended since `clearOutcomes`.
    package var outcomes: OutcomeBatch { unsafe ended.pointee }

    /// Forgets the outcomes that were looked at.
    package func clearOutcomes() { unsafe ended.pointee.removeAll() }

    package func takeEvents() -> SessionEvents {
        defer { events = SessionEvents() }
        return events
    }
}
