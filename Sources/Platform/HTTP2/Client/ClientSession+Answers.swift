/// Handling of answers: HEADERS, CONTINUATION and DATA.
extension ClientSession {
    private static let priorityBytes = 5

    func readHeaders(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        guard isKnown(header.stream), var block = unsafe unpadded(header, payload) else { return }
        if header.has(FrameHeader.Flag.priority) {
            guard block.count >= ClientSession.priorityBytes else { return violation(.protocolError) }
            unsafe block = UnsafeRawBufferPointer(rebasing: block[ClientSession.priorityBytes...])
        }
        if header.has(FrameHeader.Flag.endHeaders) { return unsafe readBlock(header, block) }
        var open = HeaderBlock(header: header)
        unsafe open.bytes.append(block)
        openBlock = open
    }

    func readContinuation(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        guard var open = openBlock, open.header.stream == header.stream else {
            return violation(.protocolError)
        }
        open.continuations += 1
        unsafe open.bytes.append(payload)
        openBlock = open
        guard open.continuations <= limits.continuationsMax else { return violation(.enhanceYourCalm) }
        guard header.has(FrameHeader.Flag.endHeaders) else { return }
        openBlock = nil
        unsafe readBlock(open.header, open.bytes.bytes)
        open.bytes.free()
    }

    /// Reads one header block. The block of a closed stream is read only for its changes to the table.
    private func readBlock(_ header: FrameHeader, _ block: UnsafeRawBufferPointer) {
        unsafe decoder.begin(block)
        guard let slot = unsafe slot(of: header.stream) else {
            while true {
                switch decoder.next() {
                case .field: continue
                case .end: return
                case .broken: return violation(.compressionError)
                }
            }
        }
        let isTrailer = unsafe slot.pointee.status >= 200
        if !isTrailer { unsafe slot.pointee.beginAnswer() }
        var reading = AnswerReading(isTrailer: isTrailer)
        loop: while true {
            switch decoder.next() {
            case .field:
                guard unsafe readField(of: slot, &reading) else { return violation(.compressionError) }
            case .end: break loop
            case .broken: return violation(.compressionError)
            }
        }
        let isLast = header.has(FrameHeader.Flag.endStream)
        if reading.listBytes > limits.headerListBytesMax { return unsafe malformed(slot, .internalError) }
        guard unsafe !reading.isMalformed && reading.isWhole(status: slot.pointee.status, isLast: isLast)
        else {
            return unsafe malformed(slot)
        }
        if isLast { unsafe answerEnded(slot) }
    }

    /// Reads one field. Returns false if the value is not valid Huffman code.
    private func readField(
        of slot: UnsafeMutablePointer<RequestSlot>, _ reading: inout AnswerReading
    ) -> Bool {
        let name = unsafe decoder.name
        reading.listBytes += name.count + decoder.valueBytesMax + HeaderTable.entryBytes
        guard !reading.isMalformed, reading.listBytes <= limits.headerListBytesMax else { return true }
        if unsafe name.first == UInt8(ascii: ":") {
            guard let value = unsafe decoder.value() else { return false }
            unsafe slot.pointee.status = reading.status(name, value, after: slot.pointee.status)
            return true
        }
        reading.hasRegularField = true
        guard !reading.isTrailer else { return true }
        if unsafe kept.contains(name) {
            guard let value = unsafe decoder.value() else { return false }
            guard unsafe value.count <= limits.keptValueBytesMax && AnswerReading.isValue(value) else {
                return true
            }
            unsafe slot.pointee.bytes.appendField(name, value)
            unsafe slot.pointee.fieldBytes = slot.pointee.bytes.count
        } else if unsafe AnswerReading.isContentLength(name) {
            guard let value = unsafe decoder.value() else { return false }
            unsafe reading.length(value, &slot.pointee.contentLength)
        } else if unsafe AnswerReading.isOfHTTP1(name) {
            reading.isMalformed = true
        }
        return true
    }

    func readData(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        guard isKnown(header.stream), let body = unsafe unpadded(header, payload) else { return }
        windowUsed += payload.count
        if windowUsed >= FlowWindow.bytesGivenBack {
            control.windowUpdate(0, windowUsed)
            windowUsed = 0
        }
        guard let slot = unsafe slot(of: header.stream) else { return }
        guard unsafe slot.pointee.status >= 200 else { return unsafe malformed(slot) }
        unsafe slot.pointee.bodyReceived += body.count
        let held = unsafe slot.pointee.bytes.count - slot.pointee.fieldBytes
        let taken = min(body.count, limits.bodyBytesMax - held)
        if taken > 0, let base = body.baseAddress { unsafe slot.pointee.bytes.append(base, taken) }
        if taken < body.count { unsafe slot.pointee.bodyIsCut = true }
        if header.has(FrameHeader.Flag.endStream) { return unsafe answerEnded(slot) }
        unsafe slot.pointee.windowUsed += payload.count
        if case let used = unsafe slot.pointee.windowUsed, used >= FlowWindow.bytesGivenBack {
            control.windowUpdate(header.stream, used)
            unsafe slot.pointee.windowUsed = 0
        }
    }

    /// Ends an answer. A peer may answer before it has read the whole body (413). The rest of the body is
    /// then not sent.
    private func answerEnded(_ slot: UnsafeMutablePointer<RequestSlot>) {
        if let length = unsafe slot.pointee.contentLength, unsafe length != slot.pointee.bodyReceived,
            unsafe !hasNoBody(slot)
        {
            return unsafe malformed(slot)
        }
        if unsafe slot.pointee.isSendingBody { control.reset(unsafe slot.pointee.stream, .noError) }
        unsafe report(slot, .answered)
        unsafe release(slot)
    }

    /// Whether the answer has no body. Then its content length describes another answer's body.
    private func hasNoBody(_ slot: UnsafeMutablePointer<RequestSlot>) -> Bool {
        if unsafe slot.pointee.status == 304 { return true }
        return unsafe slot.pointee.shared?._withUnsafeGuaranteedRef { $0.template.isHead } == true
    }
}
