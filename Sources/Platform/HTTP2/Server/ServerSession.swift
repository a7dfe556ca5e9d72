internal import CNghttp2

/// The server side of one HTTP/2 connection, without a socket: bytes in, bytes out. Complete requests come in
/// batches, and the owner answers them in any order. It can also inject faults (GOAWAY with any last stream,
/// resets, changed SETTINGS, held windows), because the APNs simulator uses it.
///
/// It is confined to one thread. It has no socket, no clock and no TLS, and never traps on a client's bytes.
/// The owner repeats: call `receive` with the bytes read, answer the `requests` with `respond`, call
/// `clearRequests`, call `pull` until a buffer is not full, and send the buffers. If `isFinished`, it closes
/// the connection. When the connection is gone, it calls `end`.
@safe package final class ServerSession {
    let limits: ServerLimits
    let handle: SessionHandle
    let slots: SlotTable<ServerSlot>
    /// The slot of the request whose header block is being read. Nil if the block is ignored.
    var slotBeingRead: UnsafeMutablePointer<ServerSlot>?

    /// Stored behind a pointer, so that appending in callbacks needs no exclusivity check.
    let arrivedRequests: UnsafeMutablePointer<RequestBatch>
    package internal(set) var events = SessionEvents()
    /// The highest stream that the client has opened.
    package internal(set) var lastStream: Int32 = 0
    /// The payload of a PING that the client has not acknowledged.
    var unacknowledgedPing: UInt64?
    /// Whether windows are held back, and the bytes that are held for the connection.
    var holdsWindows = false
    var heldBytes = 0
    /// Whether the connection is gone or the session failed.
    var isClosed = false
    /// Whether to record the streams whose whole answer was pulled, for `takeSentResponses`.
    package var recordsSentResponses = false
    var sentResponses: [ServerStreamID] = []
    /// The GOAWAY that the owner requested. Streams above its last stream are ignored, even before it is
    /// sent.
    var ownGoaway: (last: Int32, code: HTTP2ErrorCode) = (.max, .noError)

    package init(limits: ServerLimits = ServerLimits()) {
        precondition(limits.headerListBytesMax < 65_536, "a header list must be shorter than 64 KiB")
        self.limits = limits
        unsafe arrivedRequests = .allocate(capacity: 1)
        unsafe arrivedRequests.initialize(to: RequestBatch())
        slots = SlotTable(capacity: limits.streamsMax) { ServerSlot(index: $0) }
        let options = SessionOptions(
            controlAcksMax: limits.controlAcksMax, settingsEntriesMax: limits.settingsEntriesMax,
            continuationsMax: limits.continuationsMax, leavesWindowsToOwner: true,
            resets: (limits.resetsBurst, limits.resetsPerSecond))
        handle = unsafe SessionHandle(options: options) { unsafe installServerCallbacks($0) }
        handle.setCallbackOwner(self)
        let announcedStreamsMax = min(limits.initialStreamsMax ?? limits.streamsMax, limits.streamsMax)
        handle.submitSettings([
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, UInt32(announcedStreamsMax)),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, UInt32(limits.streamWindowBytes)),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(limits.headerListBytesMax)),
            (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ])
        _ = unsafe nghttp2_session_set_local_window_size(
            handle.sessionPointer, 0, 0, Int32(limits.connectionWindowBytes))
    }

    deinit {
        for index in 0..<slots.capacity { unsafe slots[index].pointee.requestBuffer.free() }
        unsafe arrivedRequests.deinitialize(count: 1)
        unsafe arrivedRequests.deallocate()
    }

    /// The number of open streams.
    package var openStreamCount: Int { slots.usedCount }

    /// Whether the stream is open: neither side has reset it, and the request or the answer is not complete.
    package func isOpen(_ stream: ServerStreamID) -> Bool { unsafe openSlot(of: stream) != nil }

    /// Answers one request. Returns false if its stream has ended or was answered. `varying` is copied. The
    /// template and the body are retained until the stream closes.
    ///
    /// - Parameter varying: The value of the template's varying field. Empty omits the field.
    @discardableResult
    package func respond(
        to stream: ServerStreamID, template: ResponseTemplate, varying: Span<UInt8> = Span(),
        body: SharedBody? = nil
    ) -> Bool {
        guard let slot = unsafe openSlot(of: stream), unsafe !slot.pointee.isAnswered else { return false }
        unsafe slot.pointee.isAnswered = true
        unsafe slot.pointee.template = template
        unsafe slot.pointee.body = body
        let fieldCount = template.count(withVarying: varying)
        var bodySource = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(ptr: slot), read_callback: readResponseBody)
        let code = template.withVaryingValue(varying) {
            unsafe (body?.count ?? 0) > 0
                ? nghttp2_submit_response(
                    handle.sessionPointer, stream.number, template.fields, fieldCount, &bodySource)
                : nghttp2_submit_response(
                    handle.sessionPointer, stream.number, template.fields, fieldCount, nil)
        }
        return code == 0
    }

    /// Reads bytes from the client, in pieces of any size.
    package func receive(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !isClosed && !bytes.isEmpty else { return }
        if let failure = unsafe handle.receive(bytes) { fail(with: failure) }
    }

    /// Fills `buffer` with waiting frames and returns the number of bytes. If the buffer is full, call again.
    package func pull(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isClosed else { return 0 }
        let (count, failure) = unsafe handle.pull(into: buffer)
        if let failure { fail(with: failure) }
        return count
    }

    /// Whether `pull` has frames to write.
    package var wantsToSend: Bool { !isClosed && handle.wantsToSend }

    /// Whether nothing more will be read or written. The owner closes the connection, and then calls `end`.
    package var isFinished: Bool { isClosed || handle.isFinished }

    /// The requests since `clearRequests`.
    package var requests: RequestBatch { unsafe arrivedRequests.pointee }

    /// Removes the requests that were handled.
    package func clearRequests() { unsafe arrivedRequests.pointee.removeAll() }

    /// Calls `body` with each stream whose whole answer was pulled since the last call.
    package func takeSentResponses(_ body: (ServerStreamID) -> Void) {
        for stream in sentResponses { body(stream) }
        sentResponses.removeAll(keepingCapacity: true)
    }

    /// Returns and removes the events since the last call.
    package func takeEvents() -> SessionEvents {
        defer { events = SessionEvents() }
        return events
    }

    /// Drops the open streams, because the connection is gone. Answers to them have no effect.
    package func end() {
        isClosed = true
        for index in 0..<slots.capacity {
            let slot = unsafe slots[index]
            if unsafe slot.pointee.stream != 0 { unsafe release(slot: slot) }
        }
    }

    /// Returns the slot of a stream, or nil if the stream has ended.
    func openSlot(of stream: ServerStreamID) -> UnsafeMutablePointer<ServerSlot>? {
        let slot = unsafe slots[Int(stream.index)]
        let isOpen =
            unsafe slot.pointee.generation == stream.generation && slot.pointee.stream == stream.number
        return unsafe isOpen && !isClosed ? slot : nil
    }

    /// Frees the slot of a stream that has ended.
    func release(slot: UnsafeMutablePointer<ServerSlot>) {
        if unsafe slotBeingRead == slot { unsafe slotBeingRead = nil }
        unsafe slot.pointee.clear()
        unsafe slots.release(at: slot.pointee.index)
    }

    /// Ends the session without another frame.
    func fail(with failure: SessionFailure) {
        isClosed = true
        events.failure = failure
    }
}
