internal import CNghttp2
package import Lifecycle

/// The client side of one HTTP/2 connection: bytes in, bytes out. Requests go in one by one and come
/// out in batches of outcomes; each ends exactly once, and what is known about it is told apart.
///
/// Pinned to one thread. It has no socket, no clock and no TLS, and never traps on a peer's bytes.
/// A turn of its owner: `receive` what was read, look at `events` and `outcomes`, `submit` while there
/// is `room`, `pull` until a buffer is not filled, send. When `isOver`, close the connection; when the
/// connection is gone, `end`.
@safe package final class ClientSession {
    let limits: ClientLimits
    let kept: KeptFields
    let handle: SessionHandle
    var slots: SlotTable<RequestSlot>
    /// The stream whose header block is being read, nil for one that is of no interest.
    var reading: UnsafeMutablePointer<RequestSlot>?

    package internal(set) var outcomes = OutcomeBatch()
    package internal(set) var events = SessionEvents()
    var peerStreamsMax: Int
    var requestsLeft: Int
    /// HEADERS up to this stream have been given out by `pull`, at least in part.
    var lastLeft: Int32 = 0
    var goawayLast: Int32?
    var openPing: UInt64?
    /// The connection is gone, or the session failed.
    var isClosed = false

    /// `keeping` names the fields of answers that outcomes shall carry; the others are dropped.
    package init(limits: ClientLimits = ClientLimits(), keeping: [StaticString] = []) {
        precondition(limits.keptValueBytesMax < 65_536, "a kept value has less than 64 KiB")
        self.limits = limits
        kept = KeptFields(keeping)
        peerStreamsMax = limits.streamsBeforeSettings
        requestsLeft = limits.requestsMax
        slots = SlotTable(capacity: limits.streamsMax) { RequestSlot(index: $0) }
        let options = SessionOptions(
            controlAcksMax: limits.controlAcksMax, settingsEntriesMax: limits.settingsEntriesMax,
            continuationsMax: limits.continuationsMax, streamsBeforeSettings: limits.streamsBeforeSettings)
        handle = unsafe SessionHandle(isServer: false, options) { unsafe installClientCallbacks($0) }
        handle.serve(self)
        handle.settings([(NGHTTP2_SETTINGS_ENABLE_PUSH, 0)])
    }

    deinit {
        for index in 0..<slots.capacity { unsafe slots[index].pointee.answer.free() }
    }

    /// How many requests `submit` takes now: 0 also when the peer parks us, says GOAWAY, or is gone.
    package var room: Int {
        guard !isClosed, goawayLast == nil else { return 0 }
        return min(max(0, min(peerStreamsMax, slots.capacity) - slots.used), requestsLeft)
    }

    /// Requests whose stream is open, the overdue ones that may still be answered included.
    package var openRequests: Int { slots.used }

    /// False once no request will ever be taken again: finish what is open, use another connection.
    package var takesRequests: Bool { !isClosed && goawayLast == nil && requestsLeft > 0 }

    /// Takes one request, or gives nil when there is no room. `path` and `varying` are copied; the
    /// template and the body are kept, not copied, until the stream closes.
    @discardableResult
    package func submit(
        _ template: HeaderTemplate, path: Span<UInt8>, varying: Span<UInt8> = Span(), body: SharedBody?,
        tag: UInt64, deadline: Instant = .distantFuture
    ) -> RequestID? {
        guard room > 0, let slot = unsafe slots.take() else { return nil }
        unsafe slot.pointee.begin(
            tag: tag, deadline: deadline.nanoseconds, template: template, body: body)
        let count = template.count(withVarying: varying)
        var source = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(ptr: slot), read_callback: readRequestBody)
        let stream = template.with(path: path, varying: varying) {
            unsafe (body?.count ?? 0) > 0
                ? nghttp2_submit_request(handle.raw, nil, template.fields, count, &source, slot)
                : nghttp2_submit_request(handle.raw, nil, template.fields, count, nil, slot)
        }
        guard stream > 0 else {
            unsafe release(slot)
            return nil
        }
        requestsLeft -= 1
        unsafe slot.pointee.stream = stream
        return unsafe RequestID(index: Int32(slot.pointee.index), generation: slot.pointee.generation)
    }

    /// Hands over bytes from the peer, in pieces of any size.
    package func receive(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !isClosed && !bytes.isEmpty else { return }
        if let failure = unsafe handle.receive(bytes) { fail(failure) }
    }

    /// Fills `buffer` with frames as far as there are any; a full buffer means: call again.
    package func pull(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isClosed else { return 0 }
        let (count, failure) = unsafe handle.pull(into: buffer)
        if let failure { fail(failure) }
        return count
    }

    /// There is something for `pull`.
    package var wantsToSend: Bool { !isClosed && handle.wantsWrite }

    /// Nothing more will be read or written: close the connection, then `end`.
    package var isOver: Bool { isClosed || handle.isOver }

    /// Asks for an acknowledgement, which comes as `events.pong`. False while one is awaited.
    package func ping(_ bytes: UInt64) -> Bool {
        guard !isClosed, openPing == nil else { return false }
        openPing = bytes
        handle.ping(bytes)
        return true
    }

    /// Forgets the outcomes that were looked at.
    package func clearOutcomes() { outcomes.removeAll() }

    package func takeEvents() -> SessionEvents {
        defer { events = SessionEvents() }
        return events
    }
}
