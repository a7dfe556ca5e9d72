/// The event for which an open request waits. Each event but the first has a `WaitList`, and the request is
/// on that list only.
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

/// A list of requests that wait for one event, in the order in which they began to wait. Its links are stored
/// in the slots.
@safe struct WaitList {
    private(set) var first: UnsafeMutablePointer<RequestSlot>?
    private var last: UnsafeMutablePointer<RequestSlot>?
    private let waitReason: WaitReason

    init(waitReason: WaitReason) { self.waitReason = waitReason }

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
