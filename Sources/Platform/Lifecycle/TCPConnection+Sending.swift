internal import Glibc

extension TCPConnection {
    /// The bytes that `send` accepted and the kernel has not.
    package var bytesWaiting: Int { output.waiting.count }

    /// Accepts all the bytes. False means that the caller must pause until `writable`. After the end the
    /// bytes are dropped, and the delegate gets `closed`.
    @discardableResult
    package func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        loop.preconditionOnLoop()
        guard acceptsOutput(bytes.count) else { return false }
        if output.canSend, isOpen, output.waiting.count + bytes.count >= TCPConnection.flushBytes {
            unsafe sendAtOnce(bytes)
        } else {
            unsafe output.waiting.append(bytes)
            hook()
        }
        return hasRoom()
    }

    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe send($0) }
    }

    /// Sends up to `count` bytes that `fill` writes into the connection's buffer. `fill` returns their
    /// number. It avoids a second copy, for example of a read from a file.
    @discardableResult
    package func send(upTo count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) -> Bool {
        loop.preconditionOnLoop()
        guard acceptsOutput(count) else { return false }
        let space = unsafe output.waiting.space(for: count)
        output.waiting.commit(unsafe fill(UnsafeMutableRawBufferPointer(rebasing: space[..<count])))
        if output.canSend, isOpen, output.waiting.count >= TCPConnection.flushBytes { flush() }
        hook()
        return hasRoom()
    }

    /// Sends at once instead of at the end of the iteration, for an owner that batches by itself. Returns
    /// false if the kernel's buffer is full. `writable` then comes when all bytes have left.
    @discardableResult
    package func sendNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        loop.preconditionOnLoop()
        guard acceptsOutput(bytes.count) else { return false }
        if output.canSend, isOpen {
            unsafe sendAtOnce(bytes)
        } else {
            unsafe output.waiting.append(bytes)
        }
        guard !output.waiting.isEmpty else { return isOpen && failure == nil }
        owesWritable = true
        writableAtBytes = 0
        return false
    }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    func acceptsOutput(_ count: Int) -> Bool {
        switch phase {
        case .connecting, .open: break
        case .finishing, .ending, .closed: return false
        }
        if failure != nil { return false }
        precondition(!shutsOutput, "a send came after the end of output")
        guard output.waiting.count + count <= options.outboundBytesMax else {
            end(.outboundFull(bytes: output.waiting.count))
            return false
        }
        return true
    }

    func hasRoom() -> Bool {
        if case .ending = phase { return false }
        if failure != nil { return false }
        if output.waiting.count >= options.highWaterBytes {
            owesWritable = true
            writableAtBytes = options.highWaterBytes / 2
        }
        return !owesWritable
    }

    func sendAtOnce(_ bytes: UnsafeRawBufferPointer) {
        do {
            try unsafe output.send(bytes, to: descriptor)
        } catch {
            fail(error)
        }
    }

    func flush() {
        do {
            try output.flush(to: descriptor)
        } catch {
            return fail(error)
        }
        guard output.waiting.isEmpty, shutsOutput, !outputIsShut else { return }
        shutdown(descriptor, Int32(SHUT_WR))
        outputIsShut = true
        if inputIsEnded, case .finishing = phase { end(.closedHere) }
    }
}
