/// Flow control as RFC 9113 (6.9) has it.
enum FlowWindow {
    /// Of a connection, and of a stream until SETTINGS say otherwise; of this side always.
    static let bytesAtFirst = 65_535
    static let bytesMax = 0x7FFF_FFFF
    /// What came of bodies is given back when half of the window is used. Nobody counts whether the peer keeps
    /// to it: what it sends beyond is read and dropped like the rest.
    static let bytesGivenBack = bytesAtFirst / 2
}
