internal import Glibc

extension TCPConnection {
    /// The bytes that `send` accepted and the kernel has not.
    package var pendingByteCount: Int { output.pendingBytes.count }

    /// Accepts all the bytes. False means that the caller must pause until `writable`. After the end the
    /// bytes are dropped, and the delegate gets `closed`.
    @discardableResult
    package func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        loop.preconditionOnLoop()
        guard acceptsOutput(byteCount: bytes.count) else { return false }
        if output.canSend, isOpen, output.pendingBytes.count + bytes.count >= TCPConnection.flushBytes {
            unsafe writeToSocket(bytes)
        } else {
            unsafe output.pendingBytes.append(bytes)
            requestHook()
        }
        return checkHighWater()
    }

    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe send($0) }
    }

    /// Sends up to `count` bytes that `fill` writes into the connection's buffer. `fill` returns their
    /// number. It avoids a second copy, for example of a read from a file.
    @discardableResult
    package func send(upTo count: Int, fill: (UnsafeMutableRawBufferPointer) -> Int) -> Bool {
        loop.preconditionOnLoop()
        guard acceptsOutput(byteCount: count) else { return false }
        let space = unsafe output.pendingBytes.space(for: count)
        output.pendingBytes.commit(
            count: unsafe fill(UnsafeMutableRawBufferPointer(rebasing: space[..<count])))
        if output.canSend, isOpen, output.pendingBytes.count >= TCPConnection.flushBytes { flush() }
        requestHook()
        return checkHighWater()
    }

    /// Sends at once instead of at the end of the iteration, for an owner that batches by itself. Returns
    /// false if the kernel's buffer is full. `writable` then comes when all bytes have left.
    @discardableResult
    package func sendNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        loop.preconditionOnLoop()
        guard acceptsOutput(byteCount: bytes.count) else { return false }
        if output.canSend, isOpen {
            unsafe writeToSocket(bytes)
        } else {
            unsafe output.pendingBytes.append(bytes)
        }
        guard !output.pendingBytes.isEmpty else { return isOpen && failure == nil }
        mustReportWritable = true
        writableAtBytes = 0
        return false
    }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    func acceptsOutput(byteCount count: Int) -> Bool {
        switch phase {
        case .connecting, .open: break
        case .finishing, .ending, .closed: return false
        }
        if failure != nil { return false }
        precondition(!endsOutputWhenSent, "a send came after the end of output")
        guard output.pendingBytes.count + count <= options.outboundBytesMax else {
            end(because: .outboundLimitReached(bytes: output.pendingBytes.count))
            return false
        }
        return true
    }

    func checkHighWater() -> Bool {
        if case .ending = phase { return false }
        if failure != nil { return false }
        if output.pendingBytes.count >= options.highWaterBytes {
            mustReportWritable = true
            writableAtBytes = options.highWaterBytes / 2
        }
        return !mustReportWritable
    }

    func writeToSocket(_ bytes: UnsafeRawBufferPointer) {
        do {
            try unsafe output.send(bytes, to: descriptor)
        } catch {
            fail(with: error)
        }
    }

    func flush() {
        do {
            try output.flush(to: descriptor)
        } catch {
            return fail(with: error)
        }
        guard output.pendingBytes.isEmpty, endsOutputWhenSent, !isOutputShut else { return }
        shutdown(descriptor, Int32(SHUT_WR))
        isOutputShut = true
        if hasInputEnded, case .finishing = phase { end(because: .closedLocally) }
    }
}
