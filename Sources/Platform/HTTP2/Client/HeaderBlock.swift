/// A header block that is still incomplete: the header of its HEADERS frame, and its bytes so far.
/// CONTINUATION frames bring the rest.
@safe struct HeaderBlock {
    let header: FrameHeader
    var buffer = GrowingBuffer()
    var continuationCount = 0
}
