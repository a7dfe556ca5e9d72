internal import CNghttp2

/// The server side of one HTTP/2 connection: bytes in, bytes out. Requests come out in batches, each
/// when it is complete; answers go in, in any order. It can also misbehave as servers do (GOAWAY with
/// any last stream, resets, changing SETTINGS, windows held back), because the APNs simulator stands on it.
///
/// Pinned to one thread. It has no socket, no clock and no TLS, and never traps on a client's bytes.
/// A turn of its owner: `receive` what was read, `answer` the `requests`, `clearRequests`, `pull` until
/// a buffer is not filled, send. When `isOver`, close the connection; when it is gone, `end`.
@safe package final class ServerSession {
    let limits: ServerLimits
    let handle: SessionHandle
    let slots: SlotTable<ServerSlot>
    /// The stream whose header block is being read, nil for one that is of no interest.
    var reading: UnsafeMutablePointer<ServerSlot>?

    /// Behind a pointer: appending within callbacks then needs no check for overlapping access.
    let arrived: UnsafeMutablePointer<RequestBatch>
    package internal(set) var events = SessionEvents()
    /// The highest stream a client has opened.
    package internal(set) var lastStream: Int32 = 0
    var openPing: UInt64?
    var holdsWindows = false
    var heldBytes = 0
    var isClosed = false
    /// Keep the streams whose whole answer was pulled, for `takeLeftAnswers`.
    package var keepsLeftAnswers = false
    var leftAnswers: [ServerStream] = []
    /// The owner's GOAWAY. From then on, not only once it is sent, streams above its last do not exist.
    var ownGoaway: (last: Int32, code: ErrorCode) = (.max, .noError)

    package init(limits: ServerLimits = ServerLimits()) {
        precondition(limits.headerListBytesMax < 65_536, "a header list has less than 64 KiB")
        self.limits = limits
        unsafe arrived = .allocate(capacity: 1)
        unsafe arrived.initialize(to: RequestBatch())
        slots = SlotTable(capacity: limits.streamsMax) { ServerSlot(index: $0) }
        let options = SessionOptions(
            controlAcksMax: limits.controlAcksMax, settingsEntriesMax: limits.settingsEntriesMax,
            continuationsMax: limits.continuationsMax, holdsWindows: true,
            resets: (limits.resetsBurst, limits.resetsPerSecond))
        handle = unsafe SessionHandle(options) { unsafe installServerCallbacks($0) }
        handle.serve(self)
        handle.settings([
            (
                NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                UInt32(min(limits.streamsAtFirst ?? limits.streamsMax, limits.streamsMax))
            ),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, UInt32(limits.streamWindowBytes)),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(limits.headerListBytesMax)),
            (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ])
        _ = unsafe nghttp2_session_set_local_window_size(
            handle.raw, 0, 0, Int32(limits.connectionWindowBytes))
    }

    deinit {
        for index in 0..<slots.capacity { unsafe slots[index].pointee.request.free() }
        unsafe arrived.deinitialize(count: 1)
        unsafe arrived.deallocate()
    }

    package var openStreams: Int { slots.used }

    /// False once either side ended the stream, or both have said all.
    package func isOpen(_ stream: ServerStream) -> Bool { unsafe openSlot(stream) != nil }

    /// Answers one request, once; false when its stream is gone or answered. `varying` is copied; the
    /// template and the body are kept, not copied, until the stream closes.
    @discardableResult
    package func answer(
        _ stream: ServerStream, _ template: AnswerTemplate, varying: Span<UInt8> = Span(),
        body: SharedBody? = nil
    ) -> Bool {
        guard let slot = unsafe openSlot(stream), unsafe !slot.pointee.isAnswered else { return false }
        unsafe slot.pointee.isAnswered = true
        unsafe slot.pointee.template = template
        unsafe slot.pointee.body = body
        let count = template.count(withVarying: varying)
        var source = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(ptr: slot), read_callback: readAnswerBody)
        let code = template.with(varying: varying) {
            unsafe (body?.count ?? 0) > 0
                ? nghttp2_submit_response(handle.raw, stream.number, template.fields, count, &source)
                : nghttp2_submit_response(handle.raw, stream.number, template.fields, count, nil)
        }
        return code == 0
    }

    /// Hands over bytes from the client, in pieces of any size.
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

    /// What arrived since `clearRequests`.
    package var requests: RequestBatch { unsafe arrived.pointee }

    /// Forgets the requests that were looked at.
    package func clearRequests() { unsafe arrived.pointee.removeAll() }

    /// The streams whose answers were pulled to their last byte since the last call.
    package func takeLeftAnswers(_ body: (ServerStream) -> Void) {
        for stream in leftAnswers { body(stream) }
        leftAnswers.removeAll(keepingCapacity: true)
    }

    package func takeEvents() -> SessionEvents {
        defer { events = SessionEvents() }
        return events
    }

    /// The connection is gone: open streams are forgotten, answers to them go nowhere.
    package func end() {
        isClosed = true
        for index in 0..<slots.capacity {
            let slot = unsafe slots[index]
            if unsafe slot.pointee.stream != 0 { unsafe release(slot) }
        }
    }

    func openSlot(_ stream: ServerStream) -> UnsafeMutablePointer<ServerSlot>? {
        let slot = unsafe slots[Int(stream.index)]
        let isOpen =
            unsafe slot.pointee.generation == stream.generation && slot.pointee.stream == stream.number
        return unsafe isOpen && !isClosed ? slot : nil
    }

    func release(_ slot: UnsafeMutablePointer<ServerSlot>) {
        if unsafe reading == slot { unsafe reading = nil }
        unsafe slot.pointee.clear()
        unsafe slots.giveBack(slot.pointee.index)
    }

    func fail(_ failure: SessionFailure) {
        isClosed = true
        events.failure = failure
    }
}
