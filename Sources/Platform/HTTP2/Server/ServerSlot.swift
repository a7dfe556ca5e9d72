/// One open stream of a server. The slot's address is the stream's user data, so slots must not move. Each
/// use of a slot has a new generation.
@safe struct ServerSlot {
    let index: Int
    var generation: UInt32 = 0
    /// Stream number, 0 while the slot is free.
    var stream: Int32 = 0

    /// The request so far, fields first and then the body.
    var request = GrowingBuffer()
    var headerListBytes = 0
    var fieldBytes = 0
    var method = 0..<0
    var path = 0..<0
    var areHeadersTruncated = false
    var isBodyTruncated = false
    /// Whether the owner has received the request.
    var isDelivered = false
    /// Whether the client has sent the whole request.
    var isComplete = false
    /// Bytes of this stream whose window is not returned to the client while windows are held.
    var heldBytes = 0

    /// Kept until the stream closes, because nghttp2 reads both in place.
    var template: ResponseTemplate?
    var body: SharedBody?
    var bodySent = 0
    var isAnswered = false

    init(index: Int) { self.index = index }

    var streamID: ServerStreamID {
        ServerStreamID(index: Int32(index), generation: generation, number: stream)
    }

    mutating func begin(stream: Int32) {
        generation &+= 1
        self.stream = stream
        headerListBytes = 0
        fieldBytes = 0
        method = 0..<0
        path = 0..<0
        areHeadersTruncated = false
        isBodyTruncated = false
        isDelivered = false
        isComplete = false
        heldBytes = 0
        bodySent = 0
        isAnswered = false
    }

    mutating func clear() {
        stream = 0
        template = nil
        body = nil
        request.removeAll()
    }
}
