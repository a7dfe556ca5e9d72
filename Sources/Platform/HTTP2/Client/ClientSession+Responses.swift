/// Handling of answers: HEADERS, CONTINUATION and DATA.
extension ClientSession {
    private static let priorityBytes = 5

    func readHeaders(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard isKnownStream(header.stream), var block = unsafe unpaddedPayload(of: header, payload: payload)
        else { return }
        if header.hasFlag(FrameHeader.FrameFlag.priority) {
            guard block.count >= ClientSession.priorityBytes else {
                return reportViolation(code: .protocolError)
            }
            unsafe block = UnsafeRawBufferPointer(rebasing: block[ClientSession.priorityBytes...])
        }
        if header.hasFlag(FrameHeader.FrameFlag.endHeaders) {
            return unsafe readHeaderBlock(header, block: block)
        }
        var open = HeaderBlock(header: header)
        unsafe open.bytes.append(block)
        openBlock = open
    }

    func readContinuation(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard var open = openBlock, open.header.stream == header.stream else {
            return reportViolation(code: .protocolError)
        }
        open.continuations += 1
        unsafe open.bytes.append(payload)
        openBlock = open
        guard open.continuations <= limits.continuationsMax else {
            return reportViolation(code: .enhanceYourCalm)
        }
        guard header.hasFlag(FrameHeader.FrameFlag.endHeaders) else { return }
        openBlock = nil
        unsafe readHeaderBlock(open.header, block: open.bytes.bytes)
        open.bytes.free()
    }

    /// Reads one header block. The block of a closed stream is read only for its changes to the table.
    private func readHeaderBlock(_ header: FrameHeader, block: UnsafeRawBufferPointer) {
        unsafe decoder.begin(block: block)
        guard let slot = unsafe slot(of: header.stream) else {
            while true {
                switch decoder.decodeNext() {
                case .field: continue
                case .end: return
                case .invalid: return reportViolation(code: .compressionError)
                }
            }
        }
        let isTrailer = unsafe slot.pointee.status >= 200
        if !isTrailer { unsafe slot.pointee.beginResponse() }
        var reading = ResponseHeaderValidator(isTrailer: isTrailer)
        loop: while true {
            switch decoder.decodeNext() {
            case .field:
                guard unsafe readField(of: slot, validator: &reading) else {
                    return reportViolation(code: .compressionError)
                }
            case .end: break loop
            case .invalid: return reportViolation(code: .compressionError)
            }
        }
        let isLast = header.hasFlag(FrameHeader.FrameFlag.endStream)
        if reading.listBytes > limits.headerListBytesMax {
            return unsafe resetMalformedStream(of: slot, code: .internalError)
        }
        guard unsafe !reading.isMalformed && reading.isComplete(status: slot.pointee.status, isLast: isLast)
        else {
            return unsafe resetMalformedStream(of: slot)
        }
        if isLast { unsafe endResponse(in: slot) }
    }

    /// Reads one field. Returns false if the value is not valid Huffman code.
    private func readField(
        of slot: UnsafeMutablePointer<RequestSlot>, validator reading: inout ResponseHeaderValidator
    ) -> Bool {
        let name = unsafe decoder.name
        reading.listBytes += name.count + decoder.valueBytesMax + HeaderTable.entryBytes
        guard !reading.isMalformed, reading.listBytes <= limits.headerListBytesMax else { return true }
        if unsafe name.first == UInt8(ascii: ":") {
            guard let value = unsafe decoder.value() else { return false }
            unsafe slot.pointee.status = reading.readStatus(
                name: name, value: value, after: slot.pointee.status)
            return true
        }
        reading.hasRegularField = true
        guard !reading.isTrailer else { return true }
        if unsafe keptFields.contains(name) {
            guard let value = unsafe decoder.value() else { return false }
            guard
                unsafe value.count <= limits.keptValueBytesMax && ResponseHeaderValidator.isValidValue(value)
            else {
                return true
            }
            unsafe slot.pointee.bytes.appendField(name: name, value: value)
            unsafe slot.pointee.fieldBytes = slot.pointee.bytes.count
        } else if unsafe ResponseHeaderValidator.isContentLength(name) {
            guard let value = unsafe decoder.value() else { return false }
            unsafe reading.readContentLength(value, into: &slot.pointee.contentLength)
        } else if unsafe ResponseHeaderValidator.isConnectionSpecific(name) {
            reading.isMalformed = true
        }
        return true
    }

    func readData(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard isKnownStream(header.stream), let body = unsafe unpaddedPayload(of: header, payload: payload)
        else { return }
        receivedSinceUpdate += payload.count
        if receivedSinceUpdate >= FlowWindow.updateThresholdBytes {
            control.windowUpdate(stream: 0, bytes: receivedSinceUpdate)
            receivedSinceUpdate = 0
        }
        guard let slot = unsafe slot(of: header.stream) else { return }
        guard unsafe slot.pointee.status >= 200 else { return unsafe resetMalformedStream(of: slot) }
        unsafe slot.pointee.bodyReceived += body.count
        let held = unsafe slot.pointee.bytes.count - slot.pointee.fieldBytes
        let taken = min(body.count, limits.bodyBytesMax - held)
        if taken > 0, let base = body.baseAddress { unsafe slot.pointee.bytes.append(base, count: taken) }
        if taken < body.count { unsafe slot.pointee.isBodyTruncated = true }
        if header.hasFlag(FrameHeader.FrameFlag.endStream) { return unsafe endResponse(in: slot) }
        unsafe slot.pointee.receivedSinceUpdate += payload.count
        if case let used = unsafe slot.pointee.receivedSinceUpdate, used >= FlowWindow.updateThresholdBytes {
            control.windowUpdate(stream: header.stream, bytes: used)
            unsafe slot.pointee.receivedSinceUpdate = 0
        }
    }

    /// Ends an answer. A peer may answer before it has read the whole body (413). The rest of the body is
    /// then not sent.
    private func endResponse(in slot: UnsafeMutablePointer<RequestSlot>) {
        if let length = unsafe slot.pointee.contentLength, unsafe length != slot.pointee.bodyReceived,
            unsafe !hasNoBody(in: slot)
        {
            return unsafe resetMalformedStream(of: slot)
        }
        if unsafe slot.pointee.isSendingBody {
            control.reset(stream: unsafe slot.pointee.stream, code: .noError)
        }
        unsafe report(slot, endReason: .answered)
        unsafe release(slot: slot)
    }

    /// Whether the answer has no body. Then its content length describes another answer's body.
    private func hasNoBody(in slot: UnsafeMutablePointer<RequestSlot>) -> Bool {
        if unsafe slot.pointee.status == 304 { return true }
        return unsafe slot.pointee.shared?._withUnsafeGuaranteedRef { $0.template.isHead } == true
    }
}
