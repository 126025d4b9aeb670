// Puts PNG pictures of one size together to one animated PNG (the chunks acTL, fcTL and fdAT of the PNG specification, third edition).
import { crc32 } from 'node:zlib';

interface Chunk {
  type: string;
  data: Buffer;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunks(png: Buffer): Chunk[] {
  const found: Chunk[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    found.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return found;
}

function encoded(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(data.length, 0);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc32(body), body.length + 4);
  return frame;
}

/**
 * Returns an animation of the pictures, shown one after another for ever.
 *
 * @param pictures PNG files as bytes, all of one size and colour type.
 * @param milliseconds how long each stays, one number a picture.
 */
export function animated(pictures: readonly Buffer[], milliseconds: readonly number[]): Buffer {
  const frames = pictures.map(chunks);
  const header = frames[0]?.find(chunk => chunk.type === 'IHDR')?.data;
  if (!header) throw new Error('no picture to animate');
  const count = Buffer.alloc(8);
  count.writeUInt32BE(frames.length, 0);
  const parts = [SIGNATURE, encoded('IHDR', header), encoded('acTL', count)];
  let sequence = 0;
  frames.forEach((frame, index) => {
    if (!frame.find(chunk => chunk.type === 'IHDR')?.data.equals(header)) throw new Error(`picture ${String(index)} has another size or colour type`);
    const control = Buffer.alloc(26);
    control.writeUInt32BE(sequence++, 0);
    header.copy(control, 4, 0, 8); // width and height; the offsets stay 0
    control.writeUInt16BE(milliseconds[index] ?? 1000, 20);
    control.writeUInt16BE(1000, 22);
    parts.push(encoded('fcTL', control));
    for (const { data } of frame.filter(chunk => chunk.type === 'IDAT')) {
      if (index === 0) {
        parts.push(encoded('IDAT', data));
        continue;
      }
      const numbered = Buffer.alloc(data.length + 4);
      numbered.writeUInt32BE(sequence++, 0);
      data.copy(numbered, 4);
      parts.push(encoded('fdAT', numbered));
    }
  });
  return Buffer.concat([...parts, encoded('IEND', Buffer.alloc(0))]);
}
