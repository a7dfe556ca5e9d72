internal import Glibc

extension TCPConnection {
    /// Stops reading. The kernel's buffer then fills up, and the peer must wait.
    package func pauseReading() { isReading = false }

    package func resumeReading() {
        loop.preconditionOnLoop()
        isReading = !hasInputEnded
        if mayHaveInput { requestHook() }
    }

    /// Reads once. If the socket may have more, reads again at the end of the iteration, so that other
    /// connections get their turn.
    func read() {
        mayHaveInput = false
        let count = receive()
        if count > 0 {
            // A read that fills the buffer may have left bytes in the socket. And epoll reports bytes and
            // the peer's end as one event, so after the end one more read is needed, which returns 0.
            if unsafe count == loop.readBuffer.count || hasPeerEnded { mayHaveInput = true }
            if mayHaveInput, isReading { requestHook() }
        } else if count == 0 {
            endInput()
        } else if errno == EINTR {
            mayHaveInput = true
            requestHook()
        } else if errno != EAGAIN {
            end(because: .broken(SystemError(action: "read from the peer", code: errno)))
        }
    }

    /// Reads the bytes that arrived before the connection broke.
    func readRemainingInput() {
        while isReading, descriptor >= 0 {
            let count = receive()
            let isInterrupted = count < 0 && errno == EINTR
            if count <= 0, !isInterrupted { return }
        }
    }

    /// Calls `recv` once and gives the bytes to the delegate. Returns the result of `recv`.
    private func receive() -> Int {
        let buffer = unsafe loop.readBuffer
        let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count }
        if isOpen {
            unsafe delegate?.didReceive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        } else {
            countDropped(bytes: count)
        }
        return count
    }

    /// Counts bytes that arrive after `finish`, which are read only to see the peer's end. Beyond the limit
    /// the connection closes.
    private func countDropped(bytes count: Int) {
        droppedBytes += count
        if droppedBytes > TCPConnection.droppedBytesMax { end(because: .closedLocally) }
    }

    /// Handles the peer's end of input.
    func endInput() {
        isReading = false
        hasInputEnded = true
        if case .finishing = phase {
            if isOutputShut { end(because: .closedLocally) }
        } else if options.keepsOpenAfterInputEnds {
            delegate?.inputDidEnd()
        } else {
            end(because: .closedByPeer)
        }
    }
}
