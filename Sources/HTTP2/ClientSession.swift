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
    let slots: SlotTable<RequestSlot>
    private let encoder = HeaderEncoder()
    /// The request whose HEADERS nghttp2 is about to give out.
    var leaving: UnsafeMutablePointer<RequestSlot>?
    /// The stream whose header block is being read, nil for one that is of no interest.
    var reading: UnsafeMutablePointer<RequestSlot>?

    /// Behind a pointer: appending within callbacks then needs no check for overlapping access.
    let ended: UnsafeMutablePointer<OutcomeBatch>
    package internal(set) var events = SessionEvents()
    /// Bytes of bodies that were submitted and not given out: they wait for `pull`, or for the peer's
    /// windows. Unchecked: it is touched for every request, and nothing is called meanwhile.
    @safe @exclusivity(unchecked) package internal(set) var unsentBytes = 0
    var peerStreamsMax: Int
    var requestsLeft: Int
    /// HEADERS up to this stream have been given out by `pull`, at least in part.
    var lastLeft: Int32 = 0
    var goawayLast: Int32?
    /// Nanoseconds on the steady clock: the present `pull`.
    var pulledAt = Int64.min
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
        unsafe ended = .allocate(capacity: 1)
        unsafe ended.initialize(to: OutcomeBatch())
        slots = SlotTable(capacity: limits.streamsMax) { RequestSlot(index: $0) }
        let options = SessionOptions(
            controlAcksMax: limits.controlAcksMax, settingsEntriesMax: limits.settingsEntriesMax,
            continuationsMax: limits.continuationsMax, streamsBeforeSettings: limits.streamsBeforeSettings)
        handle = unsafe SessionHandle(isServer: false, options) { unsafe installClientCallbacks($0) }
        handle.serve(self)
        handle.settings([(NGHTTP2_SETTINGS_ENABLE_PUSH, 0)])
    }

    deinit {
        for index in 0..<slots.capacity { unsafe slots[index].pointee.bytes.free() }
        unsafe ended.deinitialize(count: 1)
        unsafe ended.deallocate()
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
            tag: tag, leaveBy: leaveBy.nanoseconds, deadline: deadline.nanoseconds, template: template,
            body: body)
        unsafe slot.pointee.keep(path: path, varying: varying)
        unsentBytes += body?.count ?? 0
        let stream = unsafe hand(slot, template.method, hasBody: (body?.count ?? 0) > 0)
        guard stream > 0 else {
            unsafe release(slot)
            return nil
        }
        requestsLeft -= 1
        unsafe slot.pointee.stream = stream
        return unsafe RequestID(index: Int32(slot.pointee.index), generation: slot.pointee.generation)
    }

    /// Of the header block nghttp2 learns the method alone: `encoder` writes it when it goes out.
    private func hand(_ slot: UnsafeMutablePointer<RequestSlot>, _ method: [UInt8], hasBody: Bool) -> Int32 {
        let name: StaticString = ":method"
        var source = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(ptr: slot), read_callback: readRequestBody)
        return unsafe method.withUnsafeBufferPointer { method in
            var field = unsafe nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start),
                value: UnsafeMutablePointer(mutating: method.baseAddress), namelen: name.utf8CodeUnitCount,
                valuelen: method.count, flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue))
            return unsafe hasBody
                ? nghttp2_submit_request(handle.raw, nil, &field, 1, &source, slot)
                : nghttp2_submit_request(handle.raw, nil, &field, 1, nil, slot)
        }
    }

    /// Hands over bytes from the peer, in pieces of any size.
    package func receive(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !isClosed && !bytes.isEmpty else { return }
        if let failure = unsafe handle.receive(bytes) { fail(failure) }
    }

    /// Fills `buffer` with frames as far as there are any; a full buffer means: call again. Requests that
    /// had to leave before `now` end here.
    package func pull(
        into buffer: UnsafeMutableRawBufferPointer, at now: Instant = Instant(nanoseconds: .min)
    ) -> Int {
        guard !isClosed else { return 0 }
        pulledAt = now.nanoseconds
        let (count, failure) = unsafe handle.pull(into: buffer) { unsafe withHeaders($0) }
        if let failure { fail(failure) }
        return count
    }

    private func withHeaders(_ frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let slot = unsafe leaving, let template = unsafe slot.pointee.template else {
            return unsafe frame
        }
        unsafe leaving = nil
        let bytes = unsafe slot.pointee.bytes.bytes
        let pathBytes = unsafe slot.pointee.pathBytes
        return unsafe encoder.encode(
            template, path: UnsafeRawBufferPointer(rebasing: bytes[..<pathBytes]),
            varying: UnsafeRawBufferPointer(rebasing: bytes[pathBytes...]), insteadOf: frame)
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
