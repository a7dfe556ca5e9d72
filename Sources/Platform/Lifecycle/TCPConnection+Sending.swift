internal import Glibc

extension TCPConnection {
    /// The bytes that `send` accepted and the kernel has not.
    package var pendingByteCount: Int { output.pendingBytes.count }

    /// Accepts all bytes. If it returns false, the caller must pause until `didBecomeWritable`. A connection
    /// that has ended drops the bytes, and its delegate gets `didClose`.
    @discardableResult
    package func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        loop.preconditionOnLoop()
        guard admitOutput(byteCount: bytes.count) else { return false }
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

    /// Sends up to `count` bytes that `fill` writes into the connection's buffer, for example from a file.
    /// `fill` returns their number. This saves a copy.
    @discardableResult
    package func send(upTo count: Int, fill: (UnsafeMutableRawBufferPointer) -> Int) -> Bool {
        loop.preconditionOnLoop()
        guard admitOutput(byteCount: count) else { return false }
        let space = unsafe output.pendingBytes.space(for: count)
        output.pendingBytes.commit(
            count: unsafe fill(UnsafeMutableRawBufferPointer(rebasing: space[..<count])))
        if output.canSend, isOpen, output.pendingBytes.count >= TCPConnection.flushBytes { flush() }
        requestHook()
        return checkHighWater()
    }

    /// Sends at once instead of at the end of the iteration, for an owner that already collects its output.
    /// Returns false if bytes wait for the kernel. `didBecomeWritable` then comes when all bytes have left.
    @discardableResult
    package func sendNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        loop.preconditionOnLoop()
        guard admitOutput(byteCount: bytes.count) else { return false }
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

    /// Returns whether the bytes may be sent. Ends the connection if they exceed the limit of waiting bytes.
    func admitOutput(byteCount count: Int) -> Bool {
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

    /// Promises a `didBecomeWritable` if too many bytes wait. Returns false if the caller must pause until then,
    /// or if the connection has ended.
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

    /// Sends the bytes that wait, and then ends the output if the owner wants it.
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
