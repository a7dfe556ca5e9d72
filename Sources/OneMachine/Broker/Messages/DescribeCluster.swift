/// The cluster without its topics.
enum DescribeCluster {
    /// Whether the client asks for its allowed operations.
    static func readRequest(from reader: inout WireReader) throws(WireError) -> Bool {
        let operations = try reader.bool()
        try reader.skipTags()
        return operations
    }

    static func writeResponse(_ node: Node, operations: Bool, to writer: inout WireWriter) {
        writer.int32(0)
        writer.error(.none)
        writer.nullableString(nil)
        writer.string(node.clusterID)
        writer.int32(Node.id)
        writer.array(CollectionOfOne(node)) { writer, node in
            writer.int32(Node.id)
            writer.string(node.host)
            writer.int32(Int32(node.port))
            writer.nullableString(nil)
            writer.emptyTags()
        }
        writer.int32(operations ? Node.clusterOperations : Node.operationsNotAsked)
        writer.emptyTags()
    }
}
