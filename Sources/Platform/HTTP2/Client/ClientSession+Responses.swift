/// Reading of the frames of answers: HEADERS, CONTINUATION and DATA.
extension ClientSession {
    /// The bytes of the deprecated priority in front of a header block, which are skipped.
    private static let priorityBytes = 5
    /// Lower statuses (1xx) are informational, and the final answer follows.
    private static let finalStatusMin: UInt16 = 200

    func readHeaders(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard checkIsKnown(stream: header.stream),
            var block = unsafe unpaddedPayload(of: header, payload: payload)
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
        var newBlock = HeaderBlock(header: header)
        unsafe newBlock.buffer.append(block)
        incompleteBlock = newBlock
    }

    func readContinuation(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard var block = incompleteBlock, block.header.stream == header.stream else {
            return reportViolation(code: .protocolError)
        }
        block.continuationCount += 1
        unsafe block.buffer.append(payload)
        incompleteBlock = block
        guard block.continuationCount <= limits.continuationsMax else {
            return reportViolation(code: .enhanceYourCalm)
        }
        guard header.hasFlag(FrameHeader.FrameFlag.endHeaders) else { return }
        incompleteBlock = nil
        unsafe readHeaderBlock(block.header, block: block.buffer.bytes)
        block.buffer.free()
    }

    /// Reads one header block.
    private func readHeaderBlock(_ header: FrameHeader, block: UnsafeRawBufferPointer) {
        unsafe decoder.begin(block: block)
        guard let slot = unsafe slot(of: header.stream) else { return skipHeaderBlock() }
        let isTrailer = unsafe slot.pointee.status >= Self.finalStatusMin
        if !isTrailer { unsafe slot.pointee.beginResponse() }
        var validator = ResponseHeaderValidator(isTrailer: isTrailer)
        loop: while true {
            switch decoder.decodeNext() {
            case .field:
                guard unsafe readField(of: slot, validator: &validator) else {
                    return reportViolation(code: .compressionError)
                }
            case .end: break loop
            case .invalid: return reportViolation(code: .compressionError)
            }
        }
        let isLast = header.hasFlag(FrameHeader.FrameFlag.endStream)
        if validator.listBytes > limits.headerListBytesMax {
            return unsafe resetMalformedStream(of: slot, code: .internalError)
        }
        guard
            unsafe !validator.isMalformed && validator.isComplete(status: slot.pointee.status, isLast: isLast)
        else {
            return unsafe resetMalformedStream(of: slot)
        }
        if isLast { unsafe endResponse(in: slot) }
    }

    /// Reads the block of a stream that was closed, only for its changes to the dynamic table.
    private func skipHeaderBlock() {
        while true {
            switch decoder.decodeNext() {
            case .field: continue
            case .end: return
            case .invalid: return reportViolation(code: .compressionError)
            }
        }
    }

    /// Reads one field: checks it, and keeps its value if an outcome must have it. Returns false if the value
    /// is not valid Huffman code.
    private func readField(
        of slot: UnsafeMutablePointer<RequestSlot>, validator: inout ResponseHeaderValidator
    ) -> Bool {
        let name = unsafe decoder.name
        validator.listBytes += name.count + decoder.valueBytesMax + HeaderTable.entryOverheadBytes
        guard !validator.isMalformed, validator.listBytes <= limits.headerListBytesMax else { return true }
        if unsafe name.first == UInt8(ascii: ":") {
            guard let value = unsafe decoder.value() else { return false }
            unsafe slot.pointee.status = validator.readStatus(
                name: name, value: value, keeping: slot.pointee.status)
            return true
        }
        validator.hasRegularField = true
        guard !validator.isTrailer else { return true }
        if unsafe keptFields.contains(name) {
            guard let value = unsafe decoder.value() else { return false }
            guard
                unsafe value.count <= limits.keptValueBytesMax && ResponseHeaderValidator.isValidValue(value)
            else {
                return true
            }
            unsafe slot.pointee.buffer.appendField(name: name, value: value)
            unsafe slot.pointee.fieldBytes = slot.pointee.buffer.count
        } else if unsafe ResponseHeaderValidator.isContentLength(name) {
            guard let value = unsafe decoder.value() else { return false }
            unsafe validator.readContentLength(value, into: &slot.pointee.contentLength)
        } else if unsafe ResponseHeaderValidator.isConnectionSpecific(name) {
            validator.isMalformed = true
        }
        return true
    }

    /// Reads a part of a body. Padding counts against the windows too.
    func readData(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard checkIsKnown(stream: header.stream),
            let body = unsafe unpaddedPayload(of: header, payload: payload)
        else { return }
        receivedBytesSinceUpdate += payload.count
        if receivedBytesSinceUpdate >= FlowWindow.updateThresholdBytes {
            controlFrames.appendWindowUpdate(stream: 0, bytes: receivedBytesSinceUpdate)
            receivedBytesSinceUpdate = 0
        }
        guard let slot = unsafe slot(of: header.stream) else { return }
        guard unsafe slot.pointee.status >= Self.finalStatusMin else {
            return unsafe resetMalformedStream(of: slot)
        }
        unsafe slot.pointee.receivedBodyBytes += body.count
        let keptBefore = unsafe slot.pointee.buffer.count - slot.pointee.fieldBytes
        let keptCount = min(body.count, limits.bodyBytesMax - keptBefore)
        if keptCount > 0, let base = body.baseAddress {
            unsafe slot.pointee.buffer.append(base, count: keptCount)
        }
        if keptCount < body.count { unsafe slot.pointee.isBodyTruncated = true }
        if header.hasFlag(FrameHeader.FrameFlag.endStream) { return unsafe endResponse(in: slot) }
        unsafe slot.pointee.receivedBytesSinceUpdate += payload.count
        let receivedBytes = unsafe slot.pointee.receivedBytesSinceUpdate
        if receivedBytes >= FlowWindow.updateThresholdBytes {
            controlFrames.appendWindowUpdate(stream: header.stream, bytes: receivedBytes)
            unsafe slot.pointee.receivedBytesSinceUpdate = 0
        }
    }

    /// Ends an answer. A peer may answer before it has read the whole body (413). The rest of the body is
    /// then not sent.
    private func endResponse(in slot: UnsafeMutablePointer<RequestSlot>) {
        if let length = unsafe slot.pointee.contentLength, unsafe length != slot.pointee.receivedBodyBytes,
            unsafe !hasNoBody(in: slot)
        {
            return unsafe resetMalformedStream(of: slot)
        }
        if unsafe slot.pointee.isSendingBody {
            controlFrames.appendReset(stream: unsafe slot.pointee.stream, code: .noError)
        }
        unsafe report(slot, endReason: .answered)
        unsafe release(slot: slot)
    }

    /// Whether the answer has no body. Then its content length describes another answer's body.
    private func hasNoBody(in slot: UnsafeMutablePointer<RequestSlot>) -> Bool {
        if unsafe slot.pointee.status == 304 { return true }
        return unsafe slot.pointee.sharedRequest?._withUnsafeGuaranteedRef { $0.template.isHead } == true
    }
}
