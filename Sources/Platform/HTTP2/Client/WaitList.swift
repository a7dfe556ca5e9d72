/// The event that an open request waits for. A request is on the list of that event and on no other.
enum WaitReason: UInt8 {
    /// Waits for its answer.
    case response
    /// Waits for its HEADERS to be sent.
    case headers
    /// Waits with a part of its body, because the peer's windows are full.
    case window
    /// Ended by its owner or its deadline. The peer gets a reset if it knows the stream.
    case reset
}

/// Requests in the order in which they began to wait for one event. The links are stored in the slots.
@safe struct WaitList {
    private(set) var first: UnsafeMutablePointer<RequestSlot>?
    private var last: UnsafeMutablePointer<RequestSlot>?
    private let waitReason: WaitReason

    init(waitReason wait: WaitReason) { self.waitReason = wait }

    var isEmpty: Bool { unsafe first == nil }

    mutating func append(_ slot: UnsafeMutablePointer<RequestSlot>) {
        unsafe slot.pointee.waitReason = waitReason
        unsafe slot.pointee.previous = last
        unsafe slot.pointee.next = nil
        if let last = unsafe last { unsafe last.pointee.next = slot } else { unsafe first = slot }
        unsafe last = slot
    }

    /// Removes a slot. It then waits only for its answer.
    mutating func remove(_ slot: UnsafeMutablePointer<RequestSlot>) {
        let next = unsafe slot.pointee.next
        let previous = unsafe slot.pointee.previous
        if let next = unsafe next { unsafe next.pointee.previous = previous } else { unsafe last = previous }
        if let previous = unsafe previous { unsafe previous.pointee.next = next } else { unsafe first = next }
        unsafe slot.pointee.next = nil
        unsafe slot.pointee.previous = nil
        unsafe slot.pointee.waitReason = .response
    }
}
