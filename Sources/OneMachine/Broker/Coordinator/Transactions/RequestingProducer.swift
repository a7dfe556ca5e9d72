/// A producer as a request names it: its transactional id, its producer id and its epoch.
package struct RequestingProducer {
    package let transactionalID: String
    package let id: Int64
    package let epoch: Int16

    package init(transactionalID: String, id: Int64, epoch: Int16) {
        self.transactionalID = transactionalID
        self.id = id
        self.epoch = epoch
    }
}

extension AddPartitionsToTxnRequest {
    var producer: RequestingProducer {
        RequestingProducer(transactionalID: transactionalID, id: producerID, epoch: producerEpoch)
    }
}

extension AddOffsetsToTxnRequest {
    var producer: RequestingProducer {
        RequestingProducer(transactionalID: transactionalID, id: producerID, epoch: producerEpoch)
    }
}

extension TxnOffsetCommitRequest {
    var producer: RequestingProducer {
        RequestingProducer(transactionalID: transactionalID, id: producerID, epoch: producerEpoch)
    }
}
